// The device executor on a machine whose writes are weak: every algorithm is right whatever the order in
// which writes arrive, and fences and barriers that are broken on purpose are found.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <set>

#include "catch.h"
#include "device_exchange.h"

namespace rondo {
namespace {

struct Outcome {
  std::string fault;       // empty: right
  std::set<int> barriers;  // that lanes came by
};

/// Three calls, one after the other on the same connections, by lanes scheduled from the seed.
Outcome try_calls(const Algorithm& algorithm, const Shape& shape, uint64_t seed,
                  weak::Mutation mutation = {}) {
  std::mt19937_64 random(seed);
  const DeviceWorld::Options options{.threads = static_cast<uint32_t>(1 + random() % 3),
                                     .slot_bytes = 64,
                                     .slots = 1 + random() % 2,
                                     .channels = static_cast<uint32_t>(1 + random() % 2),
                                     .ranks_per_device = static_cast<uint32_t>(1 + random() % 2)};
  const auto schedules = build_all(algorithm, shape);
  DeviceWorld world(schedules, options);
  Outcome outcome;
  for (uint32_t sequence = 1; sequence <= 3 && outcome.fault.empty(); ++sequence) {
    const size_t count = shape.kind == CollectiveKind::Barrier ? 0 : random() % 60;
    Exchange<int32_t> exchange(algorithm, shape, count, ElementType::Int32, options);
    for (device::Call& call : exchange.calls()) call.signature.sequence = sequence;
    device::Blocks blocks(seed * 3 + sequence, mutation);
    try {
      world.run(exchange.calls(), blocks);
      outcome.fault = exchange.fault();
    } catch (const weak::Stuck& stuck) {
      outcome.fault = stuck.what();
    }
    outcome.barriers.insert(blocks.machine().barriers().begin(), blocks.machine().barriers().end());
  }
  return outcome;
}

/// A call that one rank never makes, until the host stops it: whether all lanes end.
bool ends_when_stopped(size_t count, uint64_t seed, weak::Mutation mutation) {
  const Algorithm& one_shot = *algorithm_by_name(CollectiveKind::AllReduce, "one_shot").value();
  const Shape shape{CollectiveKind::AllReduce, 3};
  auto schedules = build_all(one_shot, shape);
  schedules[2].lanes.clear();
  const DeviceWorld::Options options{.threads = 3};
  DeviceWorld world(schedules, options);
  Exchange<int32_t> exchange(one_shot, shape, count, ElementType::Int32, options);
  device::Blocks blocks(seed, mutation);
  blocks.add(3, 1, [&](device::Block& host) {
    for (int turn = 0; turn < 200; ++turn) host.pause();
    for (int rank = 0; rank < 2; ++rank)
      device::store_release(device::Word::Stop, &exchange.health(rank).stop, 1);
  });
  try {
    world.run(exchange.calls(), blocks);
  } catch (const weak::Stuck&) {
    return false;
  }
  return true;
}

/// A lane hands over to another through memory alone.
Algorithm two_lanes() {
  return {.name = "two lanes", .kind = CollectiveKind::Broadcast, .build = [](const Shape& shape, int rank) {
            Schedule schedule(shape, rank);
            if (rank == 1) schedule.add(1, {.recv = {0}, .dst = output(0)});
            if (rank == 1) return schedule;
            const int first = schedule.add(0, {.src = input(0), .dst = output(0)});
            schedule.add(1, {.src = output(0), .send = {1}, .after_lane = 0, .after_step = first});
            return schedule;
          }};
}

/// A peer is one member of a set in one Step and another one in the next, so another thread sees to it.
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

/// What calls are made of: rings, trees of several lanes, fan-in and fan-out, and what none of them has.
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

/// Whether broken device code shows: by wrong results, by never ending, or by a crash, therefore in a process
/// of its own.
template <typename Trial>
bool shows(Trial&& is_right) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) ::signal(signal, SIG_DFL);
    ::_exit(is_right() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status != 0;
}

constexpr uint64_t kMostSeeds = 100;

/// The first seed by which some call shows the mutation; 0: none does.
uint64_t found_by(weak::Mutation mutation) {
  for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    for (const Case& one : sample()) {
      const Shape shape{one.algorithm.kind, one.nranks};
      if (shows([&] { return try_calls(one.algorithm, shape, seed, mutation).fault.empty(); })) return seed;
    }
    if (shows([&] { return ends_when_stopped(seed % 2 * 50, seed, mutation); })) return seed;
  }
  return 0;
}

}  // namespace

TEST_CASE("every algorithm is right however late writes arrive") {
  for (const Algorithm& algorithm : algorithms())
    for (int n = 1; n <= 6; ++n)
      for (const Shape& shape : supported_shapes(algorithm, n)) {
        if (shape.varying || !shape.commutative || (shape.root != 0 && shape.root != n - 1)) continue;
        const auto seed = static_cast<uint64_t>(n * 100 + shape.root);
        INFO(name_of(algorithm) << ", " << to_string(shape) << ", seed " << seed);
        REQUIRE(try_calls(algorithm, shape, seed).fault == "");
      }
}

TEST_CASE("hand-made schedules are right however late writes arrive") {
  for (const Case& one : sample())
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(one.algorithm.name, seed);
      REQUIRE(try_calls(one.algorithm, {one.algorithm.kind, one.nranks}, seed).fault == "");
    }
}

TEST_CASE("a call that cannot go on ends everywhere when the host says so") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    REQUIRE(ends_when_stopped(seed % 2 * 50, seed, {}));
  }
}

// The release of Released orders reads before it, which this machine never delays: ThreadSanitizer finds it
// missing. That of Progress is between blocks of one device, so its scope may be narrower.
TEST_CASE("a release left out or narrowed is found within some seeds") {
  using Kind = weak::Mutation::Kind;
  for (const auto& [kind, word] : {std::pair{Kind::DropRelease, device::Word::Ready},
                                   {Kind::NarrowRelease, device::Word::Ready},
                                   {Kind::DropRelease, device::Word::Progress}}) {
    const uint64_t seed = found_by({kind, static_cast<int>(word)});
    std::printf("release of word %d %s: found by seed %d\n", static_cast<int>(word),
                kind == Kind::DropRelease ? "left out" : "narrowed", static_cast<int>(seed));
    CHECK(seed != 0);
  }
}

TEST_CASE("a barrier left out is found within some seeds") {
  std::set<int> lines;
  for (const Case& one : sample()) {
    const Outcome outcome = try_calls(one.algorithm, {one.algorithm.kind, one.nranks}, 1);
    lines.insert(outcome.barriers.begin(), outcome.barriers.end());
  }
  REQUIRE(lines.size() >= 4);
  for (const int line : lines) {
    const uint64_t seed = found_by({weak::Mutation::Kind::SkipBarrier, line});
    std::printf("barrier of line %d left out: found by seed %d\n", line, static_cast<int>(seed));
    CHECK(seed != 0);
  }
}

}  // namespace rondo
