// SPDX-License-Identifier: Apache-2.0
// Schedule: the Step that a Move becomes, and its text; what its chunks are.
#include "schedule/schedule.h"

#include "catch.h"
#include "chunk_rules.h"
#include "collective_result.h"

using namespace rondo;

namespace {

const Shape kShape{CollectiveKind::AllReduce, 4};

std::string text_of(const Move& move) {
  Schedule schedule(kShape, 2, 4, 4);
  schedule.add(move);
  return to_string(schedule, schedule.lanes[0].steps[0]);
}

uint8_t verbs_of(const Move& move) {
  Schedule schedule(kShape, 2, 4, 4);
  schedule.add(move);
  return schedule.lanes[0].steps[0].verbs;
}

}  // namespace

TEST_CASE("a step's text says what it does") {
  CHECK(text_of({.src = input(0), .send = {1, 3}}) == "input[0], send 1 3");
  CHECK(text_of({.src = input(1), .dst = output(1)}) == "input[1] -> output[1]");
  CHECK(text_of({.recv = {3}, .dst = output(2)}) == "recv 3 -> output[2]");
  CHECK(text_of({.recv = {0, 2, 3}, .src = input(1), .dst = scratch(0), .send = {1}}) ==
        "recv 0 + input[1] + recv 3 -> scratch[0], send 1");
  CHECK(text_of({.recv = {2, 3}, .src = output(0), .dst = output(0), .finish = true, .count = 3}) ==
        "output[0..2] + recv 3, finish -> output[0..2]");
}

TEST_CASE("waits are part of a step's text") {
  Schedule schedule(kShape, 0, 2);
  const int first = schedule.add(0, {.src = input(0), .dst = output(0)});
  schedule.add(1, {.src = output(0), .send = {1}, .after_lane = 0, .after_step = first});
  CHECK(to_string(schedule) ==
        "rank 0 lane 0 step 0: input[0] -> output[0]\n"
        "rank 0 lane 1 step 0: output[0], send 1, after (0, 0)\n");
}

TEST_CASE("verbs are derived from the fields of a move") {
  CHECK(verbs_of({.src = input(0), .send = {1}}) == kSend);
  CHECK(verbs_of({.src = input(0), .dst = output(0)}) == kCopy);
  CHECK(verbs_of({.recv = {1}, .dst = output(0)}) == (kRecv | kCopy));
  CHECK(verbs_of({.recv = {1, 2}, .src = input(0), .send = {3}}) == (kRecv | kReduce | kSend));
  CHECK(verbs_of({.src = input(0), .dst = output(0), .finish = true}) == (kCopy | kFinish));
}

TEST_CASE("a fold of the own rank alone is a copy of its source") {
  Schedule schedule(kShape, 2, 4, 4);
  schedule.add({.recv = {2}, .src = input(0), .dst = output(0), .finish = true});
  const Step& step = schedule.lanes[0].steps[0];
  CHECK(step.verbs == (kCopy | kFinish));
  CHECK(step.recv_set == Step::kNone);
  CHECK(schedule.peer_sets.empty());
}

TEST_CASE("equal peer sets are stored once, and the order of peers distinguishes sets") {
  Schedule schedule(kShape, 0, 4);
  schedule.add({.src = input(0), .send = {1, 3}});
  schedule.add({.src = input(1), .send = {3, 1}});
  schedule.add({.src = input(2), .send = {1, 3}});
  const auto& steps = schedule.lanes[0].steps;
  CHECK(schedule.peer_sets.size() == 2);
  CHECK(steps[0].send_set == steps[2].send_set);
  CHECK(steps[0].send_set != steps[1].send_set);
  CHECK(schedule.peer_sets[steps[1].send_set] == std::vector<int>{3, 1});
}

TEST_CASE("chunks are counted according to the buffer table") {
  const auto chunks = [](CollectiveKind kind) {
    const Schedule schedule({kind, 5}, 0, 3);
    REQUIRE(schedule.chunks.parts == 3);
    return std::pair(schedule.chunks.input, schedule.chunks.output);
  };
  CHECK(chunks(CollectiveKind::AllReduce) == std::pair(3, 3));
  CHECK(chunks(CollectiveKind::Broadcast) == std::pair(3, 3));
  CHECK(chunks(CollectiveKind::AllGather) == std::pair(3, 15));
  CHECK(chunks(CollectiveKind::Gather) == std::pair(3, 15));
  CHECK(chunks(CollectiveKind::ReduceScatter) == std::pair(15, 3));
  CHECK(chunks(CollectiveKind::Scatter) == std::pair(15, 3));
  CHECK(chunks(CollectiveKind::AllToAll) == std::pair(15, 15));
}

TEST_CASE("what a rank's output must hold is what the collective is defined to do") {
  for (const CollectiveKind kind : kAllCollectives) {
    INFO(collective_name(kind));
    CHECK(traits(kind).finishes() == test::averages(kind));
    for (int n = 1; n <= 6; ++n)
      for (int root = 0; root < (has_root(kind) ? n : 1); ++root)
        for (int rank = 0; rank < n; ++rank) {
          const bool only_root = has_root(kind) && rank != root;
          CHECK(traits(kind).reads(rank, root) == (!only_root || test::gives(kind, n, root, rank)));
          CHECK(traits(kind).writes(rank, root) == (!only_root || test::has_result(kind, n, root, rank)));
          for (int chunk = 0; chunk < chunks_of({kind, n}, 3).output; ++chunk) {
            const auto right = test::block_result(kind, n, root, rank, chunk / 3);
            const auto found = wanted({kind, n, root}, rank, 3, chunk);
            REQUIRE(found.has_value() == right.has_value());
            if (!found) continue;
            REQUIRE(test::BlockResult{found->first, found->end, found->chunk / 3} == *right);
            REQUIRE(found->chunk % 3 == chunk % 3);
          }
        }
  }
}

TEST_CASE("missing lanes are created, each with its index as port") {
  Schedule schedule(kShape, 0);
  schedule.add(2, {.src = input(0), .dst = output(0)});
  REQUIRE(schedule.lanes.size() == 3);
  CHECK(schedule.lanes[0].steps.empty());
  CHECK(schedule.lanes[2].port == 2);
}

TEST_CASE("in place, outputs share memory with the inputs that the C API names") {
  const auto alias = [](CollectiveKind kind, int rank, int chunk) {
    return InPlace::input_of_output({kind, 4, 1}, rank, 1, chunk);
  };
  CHECK(alias(CollectiveKind::AllReduce, 2, 3) == 3);
  CHECK(alias(CollectiveKind::AllGather, 2, 2) == 0);
  CHECK(alias(CollectiveKind::AllGather, 2, 1) == -1);
  CHECK(alias(CollectiveKind::Gather, 1, 1) == 0);
  CHECK(alias(CollectiveKind::Gather, 2, 2) == -1);
  CHECK(alias(CollectiveKind::ReduceScatter, 3, 0) == 3);
  CHECK(alias(CollectiveKind::Scatter, 1, 0) == 1);
  CHECK(alias(CollectiveKind::Scatter, 2, 0) == -1);
  CHECK(alias(CollectiveKind::AllToAll, 2, 1) == 1);
}

TEST_CASE("in place, a part of an output block shares memory with the same part of the input block") {
  const auto alias = [](CollectiveKind kind, int rank, int chunk) {
    return InPlace::input_of_output({kind, 4, 1}, rank, 3, chunk);
  };
  CHECK(alias(CollectiveKind::AllReduce, 2, 2) == 2);
  CHECK(alias(CollectiveKind::AllGather, 2, 7) == 1);
  CHECK(alias(CollectiveKind::AllGather, 2, 5) == -1);
  CHECK(alias(CollectiveKind::ReduceScatter, 3, 2) == 11);
  CHECK(alias(CollectiveKind::AllToAll, 2, 4) == 4);
}
