// SPDX-License-Identifier: Apache-2.0
// Channels: several Schedules, each on its own share of every block, as one.
#include "schedule/spread.h"

#include "algorithms/algorithm.h"
#include "catch.h"
#include "channelled.h"
#include "concrete_run.h"
#include "sanitized.h"
#include "schedule/verifier.h"
#include "seed.h"
#include "shapes.h"

using namespace rondo;

namespace {

constexpr int kMaxRanks = kSanitized ? 5 : 8;

}  // namespace

TEST_CASE("channels of every algorithm verify, and compute what is right") {
  for (const Algorithm& algorithm : algorithms()) {
    const uint64_t seed = test::test_seed(1);
    const int channels = 2 + static_cast<int>(seed % 2);
    const Algorithm together = channelled(algorithm, channels, seed);
    for (int n = 1; n <= kMaxRanks; ++n)
      for (const Shape& shape : supported_shapes(together, n)) {
        const std::vector<Schedule> ranks = build_all(together, shape);
        REQUIRE(ranks[0].chunks == chunks_of(shape, together.parts(shape)));
        INFO(name_of(algorithm) << ", " << to_string(shape) << ", " << channels << " channels, seed "
                                << seed);
        for (const bool in_place : {false, true}) {
          const auto short_chunks = static_cast<uint32_t>(seed);
          const Status status =
              verify(shape, ranks, {.slots = 1, .in_place = in_place, .short_chunks = short_chunks});
          INFO(status.message());
          REQUIRE(status.ok());
          REQUIRE(runs_right(shape, ranks, {.in_place = in_place, .seed = seed}));
        }
      }
  }
}

TEST_CASE("a channel has its share of every block") {
  const Shape shape{.kind = CollectiveKind::AllGather, .nranks = 3};
  const Algorithm& direct = *algorithm_by_name(shape.kind, "direct").value();
  const Schedule schedule = spread(shape, {direct.build(shape, 1), direct.build(shape, 1)});
  REQUIRE(schedule.lanes.size() == 2);
  for (uint16_t c = 0; c < 2; ++c) {
    REQUIRE(schedule.lanes[c].port == c);
    for (const Step& step : schedule.lanes[c].steps) {
      if (step.src() == Buffer::Input) REQUIRE(step.src_chunk == c);
      if (step.dst() == Buffer::Output) REQUIRE(step.dst_chunk % 2 == c);
    }
  }
}

TEST_CASE("a Step that moves several blocks has no share of them") {
  CHECK_FALSE(may_spread({.kind = CollectiveKind::AllGather, .nranks = 4}, 2));
  CHECK(may_spread({.kind = CollectiveKind::AllReduce, .nranks = 4}, 2));
}
