// SPDX-License-Identifier: Apache-2.0
// The device executor on a machine with weak memory ordering: every algorithm is right in whatever order
// writes arrive, and deliberately broken fences and barriers are found.
#include <signal.h>

#include <cstdio>
#include <random>
#include <set>
#include <string>

#include "catch.h"
#include "device_early_credit.h"
#include "device_exchange.h"
#include "device_varying.h"
#include "process.h"
#include "sanitized.h"
#include "seed.h"

namespace rondo {
namespace {

using device::Protocol;
using device::Word;
using weak::Mutation;

/// A fault in the device code or in the ordering of its memory accesses.
struct Broken {
  Mutation mutation = {};
  device::Blocks::Execute execute = device::execute;
};

struct Outcome {
  std::string fault;              // empty: right
  std::set<weak::Site> barriers;  // that lanes passed
};

DeviceWorld::Options draw_options(Protocol protocol, std::mt19937_64& random) {
  return {
      .protocol = protocol,
      .threads = static_cast<uint32_t>((protocol == Protocol::LL128 ? device::kLineLanes : 1) + random() % 3),
      .slot_bytes = 64,
      .slots = 1 + random() % 2,
      .channels = static_cast<uint32_t>(1 + random() % 2),
      .ranks_per_device = static_cast<uint32_t>(1 + random() % 2)};
}

/// Three calls in sequence on the same connections, by lanes scheduled from the seed.
Outcome try_calls(const Algorithm& algorithm, const Shape& shape, Protocol protocol, uint64_t seed,
                  const Broken& broken = {}) {
  std::mt19937_64 random(test::test_seed(seed));
  const auto options = draw_options(protocol, random);
  const auto schedules = build_all(algorithm, shape);
  DeviceWorld world(schedules, options);
  Outcome outcome;
  for (uint32_t sequence = 1; sequence <= 3 && outcome.fault.empty(); ++sequence) {
    const auto run = [&](auto exchange) {
      for (device::CallParams& call : exchange.calls()) call.signature.sequence = sequence;
      device::Blocks blocks(seed * 3 + sequence, broken.mutation, broken.execute);
      try {
        world.run(exchange.calls(), blocks);
        outcome.fault = exchange.fault();
      } catch (const weak::Stuck& stuck) {
        outcome.fault = stuck.what();
      }
      outcome.barriers.insert(blocks.machine().barriers().begin(), blocks.machine().barriers().end());
    };
    if (shape.varying) {
      run(VaryingExchange<int32_t>(algorithm, shape, 60, ElementType::Int32, options, random));
    } else {
      const size_t count = shape.kind == CollectiveKind::Barrier ? 0 : random() % 60;
      run(Exchange<int32_t>(algorithm, shape, count, ElementType::Int32, options));
    }
  }
  return outcome;
}

/// Whether all lanes end when the host stops a call that one rank never makes.
bool ends_when_stopped(size_t count, Protocol protocol, uint64_t seed, const Broken& broken = {}) {
  const Algorithm& one_shot = *algorithm_by_name(CollectiveKind::AllReduce, "one_shot").value();
  const Shape shape{CollectiveKind::AllReduce, 3};
  auto schedules = build_all(one_shot, shape);
  schedules[2].lanes.clear();
  const DeviceWorld::Options options{.protocol = protocol, .threads = 3};
  DeviceWorld world(schedules, options);
  Exchange<int32_t> exchange(one_shot, shape, count, ElementType::Int32, options);
  device::Blocks blocks(seed, broken.mutation, broken.execute);
  blocks.add(3, 1, [&](device::Block& host) {
    for (int turn = 0; turn < 200; ++turn) host.pause();
    for (int rank = 0; rank < 2; ++rank) device::store_release(Word::Stop, &exchange.health(rank).stop, 1);
  });
  try {
    world.run(exchange.calls(), blocks);
  } catch (const weak::Stuck&) {
    return false;
  }
  return true;
}

/// Whether a host that has read the health before now finds there what arrived instead of what was expected.
bool is_told(const device::CallHealth& health, const Signature& came) {
  const device::CallHealth told = device::read(&health);
  if (told.hashed == 0) return told.mismatch == 1 && told.signature == came;
  return told.mismatch == 1 &&
         told.hash == device::message_hash(device::call_hash(came), came.count, told.bytes);
}

/// One rank makes a different call. Whether the host learns of it and all lanes end.
bool tells_mismatch(Protocol protocol, uint64_t seed, const Broken& broken = {}) {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  const Shape shape{CollectiveKind::AllReduce, 3};
  const auto schedules = build_all(ring, shape);
  const DeviceWorld::Options options{.protocol = protocol};
  DeviceWorld world(schedules, options);
  Exchange<int32_t> exchange(ring, shape, 100, ElementType::Int32, options);
  auto& calls = exchange.calls();
  calls[1].signature.count = 99;
  bool told = false;
  device::Blocks blocks(seed, broken.mutation, broken.execute);
  blocks.add(3, 1, [&](device::Block& host) {
    size_t rank = 0;
    for (const device::CallParams& call : calls) (void)device::read(call.health);
    while (device::load_acquire(Word::Stop, &calls[rank].health->stop) == 0) {
      rank = (rank + 1) % calls.size();
      host.pause();
    }
    told = is_told(*calls[rank].health, calls[(rank + 2) % 3].signature);
    for (const device::CallParams& call : calls) device::store_release(Word::Stop, &call.health->stop, 1);
  });
  try {
    world.run(calls, blocks);
  } catch (const weak::Stuck&) {
    return false;
  }
  return told;
}

/// One lane hands over to another through memory alone, and the other has read that memory before.
Algorithm two_lanes() {
  return {.name = "two lanes", .kind = CollectiveKind::Broadcast, .build = [](const Shape& shape, int rank) {
            Schedule schedule(shape, rank);
            if (rank == 1) {
              schedule.add(1, {.recv = {0}, .dst = output(0)});
              schedule.add(1, {.recv = {0}, .dst = output(0)});
              return schedule;
            }
            const int first = schedule.add(0, {.src = input(0), .dst = output(0)});
            schedule.add(1, {.src = output(0), .send = {1}});
            schedule.add(1, {.src = output(0), .send = {1}, .after_lane = 0, .after_step = first});
            return schedule;
          }};
}

/// A peer has different positions in the sets of two successive Steps, so a different thread handles it.
Algorithm changing_sets() {
  return {.name = "changing sets",
          .kind = CollectiveKind::Reduce,
          .build =
              [](const Shape& shape, int rank) {
                Schedule schedule(shape, rank, 2);
                if (rank == 0) {
                  schedule.add({.recv = {0, 1, 2}, .src = input(0), .dst = output(0), .finish = true});
                  schedule.add({.recv = {0, 2}, .src = input(1), .dst = output(1), .finish = true});
                }
                if (rank == 1) schedule.add({.src = input(0), .send = {0}});
                if (rank == 1) schedule.add({.src = input(1), .send = {2}});
                if (rank == 2) schedule.add({.src = input(0), .send = {0}});
                if (rank == 2) schedule.add({.recv = {1, 2}, .src = input(1), .send = {0}});
                return schedule;
              },
          .parts = [](const Shape&) { return 2; }};
}

struct Case {
  Algorithm algorithm;
  int nranks;
};

/// The building blocks of calls: rings, trees of several lanes, fan-in, fan-out, and two hand-made cases.
std::vector<Case> sample() {
  const auto row = [](CollectiveKind kind, const char* name) {
    return Case{*algorithm_by_name(kind, name).value(), 4};
  };
  return {row(CollectiveKind::AllReduce, "ring"),
          row(CollectiveKind::AllReduce, "double_binary_tree"),
          row(CollectiveKind::AllReduce, "one_shot"),
          row(CollectiveKind::Broadcast, "chain"),
          row(CollectiveKind::AllGather, "direct"),
          {two_lanes(), 2},
          {changing_sets(), 3}};
}

/// Whether broken device code shows a wrong result, a hang, or a crash; runs in a child process because of
/// the latter. An execution that needs an impossible load counts as right.
template <typename Check>
bool shows(Check&& is_right) {
  test::Process child([&] {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) ::signal(signal, SIG_DFL);
    try {
      test::require(is_right(), "wrong");
    } catch (const weak::Impossible&) {
    }
  });
  return !child.wait().ok;
}

constexpr uint64_t kMaxSeeds = 100;
constexpr Protocol kProtocols[] = {Protocol::Simple, Protocol::LL, Protocol::LL128};

const char* name_of(Protocol protocol) {
  static constexpr const char* kNames[] = {"Simple", "LL", "LL128"};
  return kNames[static_cast<int>(protocol)];
}

/// The first seed with which some call reveals the mutation; 0 if none does.
uint64_t found_by(Protocol protocol, const Broken& broken) {
  for (uint64_t seed = 1; seed <= kMaxSeeds; ++seed) {
    for (const Case& one : sample()) {
      const Shape shape{one.algorithm.kind, one.nranks};
      if (shows([&] { return try_calls(one.algorithm, shape, protocol, seed, broken).fault.empty(); }))
        return seed;
    }
    if (shows([&] { return ends_when_stopped(seed % 2 * 50, protocol, seed, broken); })) return seed;
    if (shows([&] { return tells_mismatch(protocol, seed, broken); })) return seed;
  }
  return 0;
}

void require_found(Protocol protocol, const Broken& broken, const std::string& what) {
  const uint64_t seed = found_by(protocol, broken);
  std::printf("%s: %s: found by seed %d\n", name_of(protocol), what.c_str(), static_cast<int>(seed));
  INFO(name_of(protocol) << ": " << what);
  CHECK(seed != 0);
}

}  // namespace

TEST_CASE("every algorithm is right however late writes arrive") {
  for (const Protocol protocol : kProtocols)
    for (const Algorithm& algorithm : algorithms())
      for (int n = 1; n <= (brief() ? 4 : 6); ++n)
        for (const Shape& shape : supported_shapes(algorithm, n)) {
          if (!shape.commutative || (shape.root != 0 && shape.root != n - 1)) continue;
          const auto seed = static_cast<uint64_t>(n * 100 + shape.root);
          INFO(name_of(algorithm) << ", " << to_string(shape) << ", " << name_of(protocol) << ", seed "
                                  << seed);
          REQUIRE(try_calls(algorithm, shape, protocol, seed).fault == "");
        }
}

TEST_CASE("hand-made schedules are right however late writes arrive") {
  for (const Protocol protocol : kProtocols)
    for (const Case& one : sample())
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(one.algorithm.name, name_of(protocol), seed);
        REQUIRE(try_calls(one.algorithm, {one.algorithm.kind, one.nranks}, protocol, seed).fault == "");
      }
}

TEST_CASE("a call that cannot proceed ends on all ranks when the host stops it") {
  for (const Protocol protocol : kProtocols)
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(name_of(protocol), seed);
      REQUIRE(ends_when_stopped(seed % 2 * 50, protocol, seed));
    }
}

TEST_CASE("the host learns what arrived instead of what was expected") {
  for (const Protocol protocol : kProtocols)
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(name_of(protocol), seed);
      REQUIRE(tells_mismatch(protocol, seed));
    }
}

// The release of Progress is between blocks of one device, so its scope may be narrower. Released has neither
// release nor acquire: see below.
TEST_CASE("a missing or narrowed release or acquire is found within some seeds") {
  using Kind = Mutation::Kind;
  struct Row {
    Kind kind;
    Word word;
    const char* what;
  };
  for (const auto& [kind, word, what] : {Row{Kind::DropRelease, Word::Ready, "release of Ready left out"},
                                         {Kind::NarrowRelease, Word::Ready, "release of Ready narrowed"},
                                         {Kind::DropAcquire, Word::Ready, "acquire of Ready left out"}})
    require_found(Protocol::Simple, {.mutation = {kind, static_cast<int>(word)}}, what);
  for (const Protocol protocol : kProtocols)
    for (const auto& [kind, word, what] :
         {Row{Kind::DropRelease, Word::Progress, "release of Progress left out"},
          {Kind::DropAcquire, Word::Progress, "acquire of Progress left out"},
          {Kind::DropRelease, Word::Stop, "release of Stop left out"},
          {Kind::NarrowRelease, Word::Stop, "release of Stop narrowed"},
          {Kind::DropAcquire, Word::Stop, "acquire of Stop left out"}})
      require_found(protocol, {.mutation = {kind, static_cast<int>(word)}}, what);
}

TEST_CASE("lines that arrive in parts, or not on every device, are found within some seeds") {
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128}) {
    require_found(protocol, {.mutation = {Mutation::Kind::FlagFirst}}, "flag stored before its data");
    require_found(protocol, {.mutation = {Mutation::Kind::NarrowLines}}, "scope of lines narrowed");
  }
}

TEST_CASE("a slot returned before it was read is found within some seeds") {
  for (const Protocol protocol : kProtocols)
    require_found(protocol, {.execute = execute_with_early_credits}, "credit returned early");
  require_found(Protocol::Simple, {.mutation = {Mutation::Kind::EarlyStore}}, "credit not behind its reads");
  require_found(Protocol::Simple, {.mutation = {Mutation::Kind::LateLoad}},
                "look for credit not before its writes");
}

// A reader that finds another message's line keeps waiting for its own and returns no credit.
TEST_CASE("lines need no order between reads, credits and later writes") {
  using Kind = Mutation::Kind;
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128})
    for (const Kind kind : {Kind::EarlyStore, Kind::LateLoad})
      for (const Case& one : sample())
        for (uint64_t seed = 1; seed <= 2; ++seed) {
          CAPTURE(one.algorithm.name, name_of(protocol), seed);
          const Shape shape{one.algorithm.kind, one.nranks};
          CHECK(!shows([&] {
            return try_calls(one.algorithm, shape, protocol, seed, {.mutation = {kind}}).fault.empty();
          }));
        }
}

// Includes the barrier before a slot is returned: without it, credit returns before all threads have read.
TEST_CASE("a missing barrier is found within some seeds") {
  for (const Protocol protocol : kProtocols) {
    std::set<weak::Site> barriers;
    for (const Case& one : sample())
      for (uint64_t seed = 1; seed <= 10; ++seed) {
        const Outcome outcome = try_calls(one.algorithm, {one.algorithm.kind, one.nranks}, protocol, seed);
        barriers.insert(outcome.barriers.begin(), outcome.barriers.end());
      }
    REQUIRE(barriers.size() >= 4);
    for (const weak::Site& site : barriers) {
      const auto name = std::string(site.first.substr(site.first.rfind('/') + 1));
      require_found(protocol, {.mutation = {Mutation::Kind::SkipBarrier, 0, site}},
                    "barrier of " + name + ":" + std::to_string(site.second) + " left out");
    }
  }
}

}  // namespace rondo
