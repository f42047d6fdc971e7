// The device executor, compiled for the host: every algorithm gives the right results, with slots so small
// that they wrap, and a call that cannot go on stops everywhere.
#include <random>
#include <thread>

#include "algorithms/algorithm.h"
#include "catch.h"
#include "device_exchange.h"
#include "shapes.h"

namespace rondo {
namespace {

template <class T>
void try_call(const Algorithm& algorithm, const Shape& shape, ElementType type, std::mt19937_64& random) {
  const auto draw = [&](size_t below) { return random() % below; };
  const DeviceWorld::Options options{.threads = static_cast<uint32_t>(1 + draw(3)),
                                     .slot_bytes = sizeof(T) * 16 * (1 + draw(4)),
                                     .slots = 1 + draw(3),
                                     .channels = static_cast<uint32_t>(1 + draw(3)),
                                     .ranks_per_device = static_cast<uint32_t>(1 + draw(8))};
  const auto schedules = build_all(algorithm, shape);
  DeviceWorld world(schedules, options);
  for (uint32_t sequence = 1; sequence <= 3;
       ++sequence) {  // one call after the other on the same connections
    const size_t most = shape.kind == CollectiveKind::Barrier ? 1 : sequence == 1 ? 3 : 200;
    const size_t count = draw(most);
    Exchange<T> exchange(algorithm, shape, count, type, options);
    for (device::Call& call : exchange.calls()) call.signature.sequence = sequence;
    device::Blocks blocks;
    world.run(exchange.calls(), blocks);
    INFO(name_of(algorithm) << ", " << to_string(shape) << ", " << element_info(type).name << ", count "
                            << count << ", " << options.threads << " threads, " << options.slots
                            << " slots of " << options.slot_bytes << " bytes, " << options.channels
                            << " channels");
    REQUIRE(exchange.fault() == "");
    for (int rank = 0; rank < shape.nranks; ++rank) {
      REQUIRE(exchange.health(rank).started == world.blocks_of(rank));
      REQUIRE(exchange.health(rank).finished == world.blocks_of(rank));
    }
  }
}

}  // namespace

TEST_CASE("the device executor carries out every algorithm over any number of ranks") {
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(kSeed);
  CAPTURE(kSeed);
  for (const Algorithm& algorithm : algorithms())
    for (int n = 1; n <= 8; ++n)
      for (Shape shape : supported_shapes(algorithm, n)) {
        if (shape.varying || (shape.root != 0 && shape.root != n - 1)) continue;
        switch (random() % 3) {
          case 0: try_call<int32_t>(algorithm, shape, ElementType::Int32, random); break;
          case 1: try_call<double>(algorithm, shape, ElementType::Float64, random); break;
          default: try_call<uint8_t>(algorithm, shape, ElementType::UInt8, random); break;
        }
      }
}

TEST_CASE("ranks that make different calls stop, and one of them knows why") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  const Shape shape{CollectiveKind::AllReduce, 3};
  const auto schedules = build_all(ring, shape);
  DeviceWorld world(schedules, {});
  Exchange<int32_t> exchange(ring, shape, 100, ElementType::Int32, {});
  exchange.calls()[1].signature.count = 99;
  // As the host does: whoever fails stops the others.
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

TEST_CASE("a wait for a rank that never comes ends when the host says so") {
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

TEST_CASE("a rank that was stopped carries out no further call") {
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
