// SPDX-License-Identifier: Apache-2.0
// Every algorithm of the table, verified for 1 to 64 ranks; briefly for all up to 24, and 31, 33 and 64.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>

#include "catch.h"
#include "parallel.h"
#include "sanitized.h"
#include "schedule/verifier.h"
#include "shapes.h"

using namespace rondo;

namespace {

constexpr int kMaxRanks = kSanitized ? 9 : 64;

struct Failures {
  std::mutex mutex;
  std::vector<std::string> first;  // a few are enough
  std::atomic<long> verified{0};

  void add(const std::string& text) {
    std::lock_guard lock(mutex);
    if (first.size() < 10) first.push_back(text);
  }
};

/// Above 24 ranks a number takes seconds.
bool is_of_few(int nranks) { return nranks <= 24 || nranks == 31 || nranks == 33 || nranks == 64; }

/// One and two slots, out of place and in place, and short chunks; with more than 16 ranks each root takes
/// one of the five.
std::vector<VerifyOptions> ways_of(const Shape& shape) {
  std::vector<VerifyOptions> ways;
  for (int slots : {1, 2})
    for (bool in_place : {false, true}) ways.push_back({.slots = slots, .tiles = 3, .in_place = in_place});
  const auto seed = static_cast<uint32_t>(shape.nranks * 100 + shape.root + 1);
  ways.push_back({.slots = 1, .tiles = 4, .in_place = shape.root % 2 == 1, .short_chunks = seed});
  if (has_root(shape.kind) && shape.nranks > 16) return {ways[static_cast<size_t>(shape.root % 5)]};
  return ways;
}

/// All roots, but of many shapes with groups only a few of many.
bool is_verified(const Algorithm& algorithm, const Shape& shape) {
  return !algorithm.for_groups || shape.nranks <= 9 || shape.root % 5 == shape.nranks % 5;
}

void verify_all_ways(const Algorithm& algorithm, const Shape& shape, Failures& failures) {
  const auto ranks = build_all(algorithm, shape);
  for (VerifyOptions& way : ways_of(shape)) {
    way.association = algorithm.association;
    const Status status = verify(shape, ranks, way);
    ++failures.verified;
    if (!status.ok())
      failures.add(name_of(algorithm) + ", " + to_string(shape) + ", slots " + std::to_string(way.slots) +
                   (way.in_place ? ", in place" : "") + ", short chunks " + std::to_string(way.short_chunks) +
                   ": " + status.message());
  }
}

void require_algorithm(const Shape& shape) {
  INFO(to_string(shape));
  const auto able = [&](const Algorithm& row) { return row.kind == shape.kind && row.supports(shape); };
  REQUIRE(std::any_of(algorithms().begin(), algorithms().end(), able));
}

}  // namespace

TEST_CASE(
    "every algorithm verifies for 1 to 64 ranks, all roots, in and out of place, with one and two slots, "
    "with chunks that end in different tiles, and combines operands as its row says") {
  Failures failures;
  std::vector<std::pair<const Algorithm*, int>> jobs;
  for (int n = kMaxRanks; n >= 1; --n) {
    if (brief() && !is_of_few(n)) continue;
    for (const Algorithm& algorithm : algorithms())
      if (!algorithm.for_groups || n <= 24 || n % 4 == 0) jobs.emplace_back(&algorithm, n);
  }
  parallel_for(jobs.size(), [&](size_t i) {
    for (const Shape& shape : supported_shapes(*jobs[i].first, jobs[i].second))
      if (is_verified(*jobs[i].first, shape)) verify_all_ways(*jobs[i].first, shape, failures);
  });
  std::printf("%ld cases of %zu algorithms verified\n", failures.verified.load(), algorithms().size());
  for (const std::string& failure : failures.first) {
    INFO(failure);
    CHECK(false);
  }
  CHECK(failures.verified > (kSanitized ? 2'000 : brief() ? 20'000 : 80'000));
}

TEST_CASE("every collective has an algorithm for each shape") {
  for (const CollectiveKind kind : kAllCollectives)
    for (int n = 1; n <= kMaxRanks; ++n)
      for (int root = 0; root < n; ++root)
        for (bool commutative : {true, false}) require_algorithm({kind, n, root, false, commutative});
}

TEST_CASE("the varying forms have an algorithm for any number of ranks") {
  for (const CollectiveKind kind : kAllCollectives)
    for (int n = 1; traits(kind).has_blocks() && n <= kMaxRanks; ++n)
      require_algorithm({kind, n, n / 2, true, false});
}

TEST_CASE("algorithms of a collective are contiguous and have unique names") {
  std::set<std::string> names;
  std::set<CollectiveKind> seen;
  CollectiveKind last = CollectiveKind::PointToPoint;
  for (const Algorithm& algorithm : algorithms()) {
    INFO(name_of(algorithm));
    CHECK(names.insert(name_of(algorithm)).second);
    if (algorithm.kind != last) CHECK(seen.insert(algorithm.kind).second);
    last = algorithm.kind;
    const auto found = algorithm_by_name(algorithm.kind, algorithm.name);
    REQUIRE(found.ok());
    CHECK(found.value() == &algorithm);
  }
  CHECK(seen.size() == static_cast<size_t>(kCollectives));
}

TEST_CASE(
    "all ranks divide a vector, and have slots for as many chunks, as the row says, and need that many") {
  for (const Algorithm& algorithm : algorithms())
    for (int n = 1; n <= kMaxRanks; ++n)
      for (const Shape& shape : supported_shapes(algorithm, n)) {
        if (n > 16 && shape.root % 5 != 0) continue;
        INFO(name_of(algorithm) << ", " << to_string(shape));
        const Chunks chunks = chunks_of(shape, algorithm.parts(shape));
        int most = 1;
        for (const Schedule& schedule : build_all(algorithm, shape)) {
          REQUIRE(schedule.chunks == chunks);
          REQUIRE(schedule.slot_chunks == algorithm.max_count(shape));
          for (const Lane& lane : schedule.lanes)
            for (const Step& step : lane.steps)
              if (step.has(kSend)) most = std::max<int>(most, step.count);
        }
        if (shape.root == 0) REQUIRE(most * 2 >= algorithm.max_count(shape));
      }
}

TEST_CASE("an unknown name is refused with the known names") {
  const auto found = algorithm_by_name(CollectiveKind::Barrier, "ring");
  REQUIRE_FALSE(found.ok());
  CHECK(found.status().code() == Code::InvalidArgument);
  CHECK(found.status().message() ==
        "barrier has no algorithm 'ring'; it has: dissemination, flat, leaders, leaders_dissemination");
}

TEST_CASE("algorithms refuse more ranks than they have chunks and Steps for, and build for all others") {
  std::set<std::string> of_any_number;
  for (const Algorithm& algorithm : algorithms())
    for (const int n : {65'535, 100'000, 1 << 20}) {
      const Shape shape{algorithm.kind, n, 0, false, true};
      if (!algorithm.supports(shape)) continue;
      of_any_number.insert(name_of(algorithm));
      for (const int rank : {0, n / 2, n - 1}) {
        const Schedule schedule = algorithm.build(shape, rank);
        INFO(name_of(algorithm) << ", rank " << rank << " of " << n);
        REQUIRE(schedule.chunks == chunks_of(shape, algorithm.parts(shape)));
        REQUIRE(schedule.rank == rank);
      }
    }
  CHECK(of_any_number.contains("broadcast/binomial"));
  CHECK(of_any_number.contains("all_reduce/double_binary_tree"));
  CHECK_FALSE(of_any_number.contains("all_gather/bruck"));
  CHECK_FALSE(of_any_number.contains("broadcast/scatter_allgather"));
}

TEST_CASE("the plan of the largest ring fits the limits") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  int n = 1;
  while (ring.supports({ring.kind, n + 1, 0, false, true})) ++n;
  CHECK(n == 16'383);
  CHECK(ring.build({ring.kind, n, 0, false, true}, 0).lanes[0].steps.size() < Step::kNone);
}
