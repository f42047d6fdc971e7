// SPDX-License-Identifier: Apache-2.0
// The device executor, compiled for the host: every algorithm gives the right results, with slots so small
// that they wrap, and a call that cannot proceed stops on all ranks.
#include <complex>
#include <memory>
#include <random>
#include <thread>

#include "algorithms/algorithm.h"
#include "catch.h"
#include "channelled.h"
#include "device_exchange.h"
#include "device_varying.h"
#include "folded_scratch.h"
#include "sanitized.h"
#include "seed.h"
#include "shapes.h"

namespace rondo {
namespace {

using device::Protocol;

std::string to_string(const DeviceWorld::Options& options) {
  static constexpr const char* kProtocols[] = {"Simple", "LL", "LL128"};
  return std::string(kProtocols[static_cast<int>(options.protocol)]) + ", " +
         std::to_string(options.threads) + " threads, " + std::to_string(options.slots) + " slots of " +
         std::to_string(options.slot_bytes) + " bytes, " + std::to_string(options.channels) + " channels, " +
         std::to_string(options.ranks_per_device) + " ranks a device";
}

/// Draws slots so small that they wrap.
DeviceWorld::Options draw_options(Protocol protocol, size_t type_bytes, std::mt19937_64& random) {
  const auto draw = [&](size_t below) { return random() % below; };
  return {.protocol = protocol,
          .threads = static_cast<uint32_t>((protocol == Protocol::LL128 ? device::kLineLanes : 1) + draw(3)),
          .slot_bytes = type_bytes * 16 * (1 + draw(4)),
          .slots = 1 + draw(3),
          .channels = static_cast<uint32_t>(1 + draw(3)),
          .ranks_per_device = static_cast<uint32_t>(1 + draw(8))};
}

/// Several calls in sequence on the same connections. `exchange_of(sequence, options)` creates them.
template <class ExchangeOf>
void try_calls(const Algorithm& algorithm, const Shape& shape, const DeviceWorld::Options& options,
               ExchangeOf exchange_of) {
  const auto schedules = build_all(algorithm, shape);
  DeviceWorld world(schedules, options);
  for (uint32_t sequence = 1; sequence <= 3; ++sequence) {
    auto exchange = exchange_of(sequence);
    for (device::CallParams& call : exchange->calls()) call.signature.sequence = sequence;
    device::Blocks blocks;
    world.run(exchange->calls(), blocks);
    INFO(name_of(algorithm) << ", " << to_string(shape) << ", call " << sequence << ", "
                            << to_string(options));
    REQUIRE(exchange->fault() == "");
    for (int rank = 0; rank < shape.nranks; ++rank) {
      const device::CallHealth& health = *exchange->calls()[static_cast<size_t>(rank)].health;
      REQUIRE(health.started == world.blocks_of(rank));
      REQUIRE(health.finished == world.blocks_of(rank));
    }
  }
}

template <class T>
void try_type(const Algorithm& algorithm, const Shape& shape, ElementType type, Protocol protocol,
              std::mt19937_64& random) {
  const auto options = draw_options(protocol, sizeof(T), random);
  const auto most = [&](uint32_t sequence) -> size_t {
    return shape.kind == CollectiveKind::Barrier ? 1 : sequence == 1 ? 3 : 200;
  };
  INFO(element_info(type).name);
  if (shape.varying)
    return try_calls(algorithm, shape, options, [&](uint32_t sequence) {
      return std::make_unique<VaryingExchange<T>>(algorithm, shape, most(sequence), type, options, random);
    });
  try_calls(algorithm, shape, options, [&](uint32_t sequence) {
    return std::make_unique<Exchange<T>>(algorithm, shape, random() % most(sequence), type, options);
  });
}

void try_shape(const Algorithm& algorithm, const Shape& shape, Protocol protocol, std::mt19937_64& random) {
  switch (random() % 4) {
    case 0: return try_type<int32_t>(algorithm, shape, ElementType::Int32, protocol, random);
    case 1: return try_type<double>(algorithm, shape, ElementType::Float64, protocol, random);
    case 2:
      return try_type<std::complex<double>>(algorithm, shape, ElementType::Complex128, protocol, random);
    default: return try_type<uint8_t>(algorithm, shape, ElementType::UInt8, protocol, random);
  }
}

constexpr Protocol kProtocols[] = {Protocol::Simple, Protocol::LL, Protocol::LL128};

/// Sanitizers see every algorithm by every protocol on 2 ranks. More ranks move their chunks by the same
/// code, so that there one protocol is enough; each has its share of the algorithms.
bool is_left_out(const Algorithm& algorithm, Protocol protocol, int nranks) {
  const auto index = static_cast<size_t>(&algorithm - algorithms().data());
  return kSanitized && nranks > 2 && protocol != kProtocols[index % std::size(kProtocols)];
}

}  // namespace

TEST_CASE("the device executor runs every algorithm over any number of ranks by every protocol") {
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(test::test_seed(kSeed));
  CAPTURE(kSeed);
  const std::vector<int> sizes = kSanitized ? std::vector{2, 5}
                                 : brief()  ? std::vector{1, 2, 4, 5}
                                            : std::vector{1, 2, 3, 4, 5, 8};
  for (const Protocol protocol : kProtocols)
    for (const Algorithm& algorithm : algorithms())
      for (const int n : sizes)
        for (const Shape& shape : supported_shapes(algorithm, n)) {
          if (is_left_out(algorithm, protocol, n)) continue;
          const bool plain = shape.root == 0 && shape.commutative;
          // Line protocols are independent of roots and orders, so a sample is enough.
          if (plain || (shape.root == n - 1 && (protocol == Protocol::Simple || n == 5)))
            try_shape(algorithm, shape, protocol, random);
        }
}

TEST_CASE("the device executor runs channels that share every block") {
  constexpr uint64_t kSeed = 2;
  std::mt19937_64 random(test::test_seed(kSeed));
  CAPTURE(kSeed);
  for (const Algorithm& algorithm : algorithms()) {
    const Algorithm channels = channelled(algorithm, 2 + static_cast<int>(random() % 2), random());
    for (const int n : kSanitized ? std::vector{3} : std::vector{2, 3, 5})
      for (const Shape& shape : supported_shapes(channels, n))
        if (shape.root == 0) try_shape(channels, shape, kProtocols[random() % 3], random);
  }
}

TEST_CASE("the device executor folds scratch, waits for the tile before, and waits alone") {
  constexpr uint64_t kSeed = 3;
  std::mt19937_64 random(test::test_seed(kSeed));
  CAPTURE(kSeed);
  const Algorithm algorithm = folded_scratch();
  for (const Protocol protocol : kProtocols)
    for (const int n : {1, 2, 3, 4})
      for (int i = 0; i < 4; ++i)
        try_shape(algorithm, {.kind = algorithm.kind, .nranks = n}, protocol, random);
}

TEST_CASE("a launch can be replayed") {
  const Algorithm& trees = *algorithm_by_name(CollectiveKind::AllReduce, "double_binary_tree").value();
  const Shape shape{CollectiveKind::AllReduce, 4};
  const auto schedules = build_all(trees, shape);
  for (const Protocol protocol : kProtocols) {
    const DeviceWorld::Options options{.protocol = protocol, .channels = 2};
    DeviceWorld world(schedules, options);
    Exchange<int32_t> exchange(trees, shape, 500, ElementType::Int32, options);
    constexpr uint32_t kReplays = 3;
    for (uint32_t replay = 0; replay < kReplays; ++replay) {
      exchange.forget();
      device::Blocks blocks;
      world.run(exchange.calls(), blocks);
      REQUIRE(exchange.fault() == "");
    }
    for (int rank = 0; rank < 4; ++rank)
      CHECK(exchange.health(rank).finished == kReplays * world.blocks_of(rank));
  }
}

TEST_CASE("no line keeps its flag until the flag value recurs") {
  const Algorithm& chain = *algorithm_by_name(CollectiveKind::Broadcast, "chain").value();
  const Shape shape{CollectiveKind::Broadcast, 2};
  const DeviceWorld::Options options{.protocol = Protocol::LL, .slot_bytes = 256, .slots = 2};
  const auto schedules = build_all(chain, shape);
  DeviceWorld world(schedules, options);
  const auto call = [&](uint64_t message, size_t elements) {
    world.skip_to(message);
    Exchange<int32_t> exchange(chain, shape, elements, ElementType::Int32, options);
    device::Blocks blocks;
    world.run(exchange.calls(), blocks);
    return exchange.fault();
  };
  REQUIRE(call(12345, 64) == "");
  CHECK(world.has_words_of(12345));
  for (uint64_t k = (1 << 30) - 3; k < (1 << 30) + 3; ++k) REQUIRE(call(k, 1) == "");
  CHECK_FALSE(world.has_words_of(12345));
  for (uint64_t k = 0xFFFFFFFF - 3; k < 0xFFFFFFFFu + 3; ++k) REQUIRE(call(k, 40) == "");
}

TEST_CASE("ranks that make different calls stop, and one of them knows why") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  const Shape shape{CollectiveKind::AllReduce, 3};
  const auto schedules = build_all(ring, shape);
  DeviceWorld world(schedules, {});
  Exchange<int32_t> exchange(ring, shape, 100, ElementType::Int32, {});
  exchange.calls()[1].signature.count = 99;
  // Stands in for the host: a rank that fails stops the others.
  std::atomic<bool> over = false;
  std::thread watch([&] {
    while (!over) {
      for (int rank = 0; rank < 3; ++rank)
        if (device::load_acquire(device::Word::Stop, &exchange.health(rank).stop) != 0)
          for (int other = 0; other < 3; ++other)
            device::store_release(device::Word::Stop, &exchange.health(other).stop, 1);
      std::this_thread::yield();
    }
  });
  device::Blocks blocks;
  world.run(exchange.calls(), blocks);
  over = true;
  watch.join();
  int found = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const device::CallHealth& health = exchange.health(rank);
    CHECK(health.stop == 1);
    if (health.mismatch == 0) continue;
    ++found;
    CHECK((rank == 1) == (health.signature.count == 100));
  }
  CHECK(found >= 1);
}

TEST_CASE("a wait for a rank that never arrives ends when the host stops it") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  const Shape shape{CollectiveKind::AllReduce, 2};
  auto schedules = build_all(ring, shape);
  schedules[1].lanes.clear();  // it makes no call
  DeviceWorld world(schedules, {});
  Exchange<int32_t> exchange(ring, shape, 100, ElementType::Int32, {});
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device::store_release(device::Word::Stop, &exchange.health(0).stop, 1);
  });
  device::Blocks blocks;
  world.run(exchange.calls(), blocks);
  host.join();
  CHECK(exchange.health(0).mismatch == 0);
  CHECK(exchange.health(0).finished == exchange.health(0).started);
}

TEST_CASE("a stopped rank runs no further call") {
  const Algorithm& chain = *algorithm_by_name(CollectiveKind::Broadcast, "chain").value();
  const Shape shape{CollectiveKind::Broadcast, 2};
  const auto schedules = build_all(chain, shape);
  DeviceWorld world(schedules, {});
  Exchange<int32_t> exchange(chain, shape, 10, ElementType::Int32, {});
  exchange.health(0).stop = exchange.health(1).stop = 1;
  device::Blocks blocks;
  world.run(exchange.calls(), blocks);
  CHECK(exchange.untouched(0));
  CHECK(exchange.untouched(1));
  CHECK(exchange.health(0).finished == world.blocks_of(0));
  CHECK(exchange.health(1).finished == world.blocks_of(1));
}

}  // namespace rondo
