// SPDX-License-Identifier: Apache-2.0
// The verifier on small hand-made schedules: what it accepts, and the errors with which it refuses.
#include "schedule/verifier.h"

#include "catch.h"
#include "channelled.h"
#include "concrete_run.h"
#include "folded_scratch.h"
#include "shapes.h"

using namespace rondo;

namespace {

using Ranks = std::vector<Schedule>;

Ranks empty(const Shape& shape, int parts = 1, int scratch = 0) {
  Ranks ranks;
  for (int rank = 0; rank < shape.nranks; ++rank) ranks.emplace_back(shape, rank, parts, scratch);
  return ranks;
}

std::string refusal(const Shape& shape, const Ranks& ranks, const VerifyOptions& options = {}) {
  const Status status = verify(shape, ranks, options);
  CHECK((status.ok() || status.code() == Code::InternalError));
  return status.message();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

#define CHECK_REFUSED(part, ...)                    \
  do {                                              \
    const std::string words = refusal(__VA_ARGS__); \
    INFO(words);                                    \
    CHECK(contains(words, part));                   \
  } while (false)

const Shape kAllReduce{CollectiveKind::AllReduce, 2};
const Shape kBroadcast{CollectiveKind::Broadcast, 2};

/// Both ranks send their vector and fold.
Ranks exchange(const Shape& shape = kAllReduce) {
  Ranks ranks = empty(shape);
  for (int rank : {0, 1}) {
    ranks[static_cast<size_t>(rank)].add({.src = input(0), .send = {1 - rank}});
    ranks[static_cast<size_t>(rank)].add({.recv = {0, 1}, .src = input(0), .dst = output(0), .finish = true});
  }
  return ranks;
}

}  // namespace

TEST_CASE("a correct exchange verifies") {
  CHECK(verify(kAllReduce, exchange()).ok());
  CHECK(verify(kAllReduce, exchange(), {.slots = 1, .tiles = 5, .in_place = true}).ok());
  CHECK(association(kAllReduce, exchange(), 1, 0) == "(0+1)");
}

TEST_CASE("a deadlock names which rank waits for which") {
  Ranks ranks = empty(kAllReduce);
  for (int rank : {0, 1}) {
    Schedule& schedule = ranks[static_cast<size_t>(rank)];
    schedule.add({.recv = {0, 1}, .src = input(0), .dst = output(0), .finish = true});
    schedule.add({.src = input(0), .send = {1 - rank}});
  }
  CHECK(refusal(kAllReduce, ranks) ==
        "deadlock at 2 slots: rank 0 lane 0 step 0 (input[0] + recv 1, finish -> output[0]), tile 0 waits "
        "for data "
        "from rank 1; rank 1 lane 0 step 0 (recv 0 + input[0], finish -> output[0]), tile 0 waits for data "
        "from rank 0");
}

TEST_CASE("a deadlock for lack of slots appears at that depth only") {
  const Shape shape{CollectiveKind::AllGather, 3};
  Ranks ranks = empty(shape);
  for (int rank = 0; rank < 3; ++rank) {
    Schedule& schedule = ranks[static_cast<size_t>(rank)];
    const int next = (rank + 1) % 3;
    const int previous = (rank + 2) % 3;
    schedule.add({.src = input(0), .dst = output(rank), .send = {next}});
    schedule.add({.recv = {previous}, .dst = output(previous), .send = {next}});
    schedule.add({.recv = {previous}, .dst = output(next)});
  }
  CHECK(verify(shape, ranks, {.slots = 2}).ok());
  CHECK_REFUSED("waits for room to rank", shape, ranks, {.slots = 1});
}

TEST_CASE("a rank that waits for a finished rank is named") {
  Ranks ranks = empty(kBroadcast);
  ranks[0].add({.src = input(0), .dst = output(0)});
  ranks[1].add({.recv = {0}, .dst = output(0)});
  CHECK_REFUSED("waits for data from rank 0; rank 0 has ended", kBroadcast, ranks);
}

TEST_CASE("messages that no rank receives are found") {
  Ranks ranks = exchange();
  ranks[0].add(1, {.src = input(0), .send = {1}});
  CHECK_REFUSED("on port 1 are never received", kAllReduce, ranks, {.slots = 3});
}

TEST_CASE("contributions: missing, duplicate, of the wrong chunk, in the wrong order") {
  Ranks missing = empty(kAllReduce);
  for (Schedule& schedule : missing) schedule.add({.src = input(0), .dst = output(0)});
  CHECK_REFUSED(
      "output[0] of rank 0, tile 0 is 0 of chunk 0, tile 0; it should hold chunk 0 of the ranks 0 to 1",
      kAllReduce, missing);

  Ranks twice = exchange();
  for (Schedule& schedule : twice) {
    schedule.lanes[0].steps[1].verbs &= static_cast<uint8_t>(~kFinish);
    schedule.add({.src = output(0), .send = {1 - schedule.rank}});
    schedule.add({.recv = {0, 1}, .src = output(0), .dst = output(0), .finish = true});
  }
  CHECK_REFUSED("adds rank 0's contribution twice", kAllReduce, twice);

  const Shape scatter{CollectiveKind::ReduceScatter, 2};
  Ranks crossed = empty(scatter);
  for (Schedule& schedule : crossed) {
    schedule.add({.src = input(schedule.rank), .send = {1 - schedule.rank}});
    schedule.add({.recv = {0, 1}, .src = input(schedule.rank), .dst = output(0), .finish = true});
  }
  CHECK_REFUSED("adds chunk 1 of rank 1 to chunk 0 of rank 0", scatter, crossed);

  Shape ordered = kAllReduce;
  ordered.commutative = false;
  CHECK(verify(ordered, exchange(ordered)).ok());
  Ranks reversed = empty(ordered);
  for (Schedule& schedule : reversed) {
    schedule.add({.src = input(0), .send = {1 - schedule.rank}});
    schedule.add({.recv = {1, 0}, .src = input(0), .dst = output(0), .finish = true});
  }
  CHECK(verify(kAllReduce, reversed).ok());
  CHECK_REFUSED("adds rank 0 after rank 1, but the operands do not commute", ordered, reversed);
}

TEST_CASE("finishing: too early, twice, never, without need") {
  Ranks early = exchange();
  early[0].lanes[0].steps[0].verbs |= kFinish;
  CHECK_REFUSED("finishes 0 of chunk 0, tile 0, which lacks ranks", kAllReduce, early);

  Ranks twice = exchange();
  twice[1].add({.src = output(0), .dst = output(0), .finish = true});
  CHECK_REFUSED("finishes a value that is already finished", kAllReduce, twice);

  Ranks never = exchange();
  never[1].lanes[0].steps[1].verbs &= static_cast<uint8_t>(~kFinish);
  CHECK_REFUSED("output[0] of rank 1, tile 0 was not finished", kAllReduce, never);

  const Shape scan{CollectiveKind::Scan, 1};
  Ranks scanned = empty(scan);
  scanned[0].add({.src = input(0), .dst = output(0), .finish = true});
  CHECK_REFUSED("it finishes in a collective that does not", scan, scanned);
}

TEST_CASE("memory: never written, written where forbidden") {
  Ranks unwritten = empty(kBroadcast);
  unwritten[0].add({.src = output(0), .send = {1}});
  unwritten[1].add({.recv = {0}, .dst = output(0)});
  CHECK_REFUSED("reads output[0], which was never written", kBroadcast, unwritten);
  CHECK_REFUSED("reads output[0], which was never written", kBroadcast, unwritten, {.in_place = true});

  Ranks foreign = empty(kBroadcast);
  foreign[0].add({.recv = {1}, .dst = output(0)});
  foreign[1].add({.src = input(0), .send = {0}});
  CHECK_REFUSED("reads input[0], which was never written", kBroadcast, foreign);

  Ranks overwritten = exchange();
  overwritten[0].lanes[0].steps[1].buffers = static_cast<uint8_t>(1 | 1 << 4);
  CHECK_REFUSED("it writes to the input", kAllReduce, overwritten);

  const Shape reduce{CollectiveKind::Reduce, 2, 0};
  CHECK_REFUSED("it writes to the output of rank 1, which has no result", reduce, exchange(reduce));
}

TEST_CASE("scratch contents do not survive a tile") {
  Ranks ranks = empty(kBroadcast, 1, 1);
  ranks[0].add({.src = input(0), .dst = output(0), .send = {1}});
  ranks[1].add({.recv = {0}, .dst = scratch(0)});
  ranks[1].add({.src = scratch(0), .dst = output(0)});
  CHECK(verify(kBroadcast, ranks).ok());
  std::swap(ranks[1].lanes[0].steps[0], ranks[1].lanes[0].steps[1]);
  CHECK_REFUSED("tile 0: reads scratch[0], which was never written", kBroadcast, ranks);
}

TEST_CASE("in place, an input must be read before its output is written") {
  Ranks ranks = empty(kAllReduce);
  ranks[0].add({.src = input(0), .send = {1}});
  ranks[0].add({.recv = {1}, .dst = output(0)});
  ranks[0].add({.src = input(0), .send = {1}});
  ranks[1].add({.recv = {0, 1}, .src = input(0), .dst = output(0), .finish = true});
  ranks[1].add({.src = output(0), .send = {0}});
  ranks[1].add({.recv = {0}, .dst = output(0)});
  CHECK_REFUSED("reads input[0] after the output in its place was written", kAllReduce, ranks,
                {.in_place = true});
}

TEST_CASE("source and destination may be the same, but not overlap otherwise") {
  const Shape alone{CollectiveKind::Broadcast, 1};
  Ranks ranks = empty(alone, 3);
  ranks[0].slot_chunks = 3;
  ranks[0].add({.src = input(0), .dst = output(0), .count = 3});
  CHECK(verify(alone, ranks).ok());
  CHECK(verify(alone, ranks, {.in_place = true}).ok());
  const Shape equal{CollectiveKind::AllGather, 4};
  Ranks gather = empty(equal);
  for (int block : {0, 1}) gather[0].add({.src = input(0), .dst = output(block)});
  gather[0].add({.src = output(0), .dst = output(1), .count = 2});
  CHECK_REFUSED("source and destination overlap, but are not the same", equal, gather);
}

TEST_CASE("lanes of a rank may access the same memory only in a guaranteed order") {
  const auto keep_and_send = [](bool waits) {
    Ranks ranks = empty(kBroadcast);
    ranks[0].add(0, {.src = input(0), .dst = output(0)});
    ranks[0].add(1, {.src = output(0), .send = {1}, .after_lane = waits ? 0 : -1, .after_step = 0});
    ranks[1].add(1, {.recv = {0}, .dst = output(0)});
    return ranks;
  };
  CHECK(verify(kBroadcast, keep_and_send(true)).ok());
  CHECK(verify(kBroadcast, keep_and_send(true), {.in_place = true}).ok());
  CHECK_REFUSED("reads output[0]: races with a write by lane 0", kBroadcast, keep_and_send(false));
}

TEST_CASE("a message orders lanes as well as a wait does") {
  // In place, lane 1 of rank 1 overwrites what lane 0 has read: it receives the reply only after lane 0's
  // message was received.
  Ranks ranks = empty(kAllReduce);
  ranks[0].add(0, {.recv = {0, 1}, .src = input(0), .dst = output(0), .finish = true});
  ranks[0].add(1, {.src = output(0), .send = {1}, .after_lane = 0, .after_step = 0});
  ranks[1].add(0, {.src = input(0), .send = {0}});
  ranks[1].add(1, {.recv = {0}, .dst = output(0)});
  CHECK(verify(kAllReduce, ranks, {.in_place = true}).ok());
  // A reply that does not depend on the request gives no order.
  const Shape gather{CollectiveKind::AllGather, 2};
  Ranks loose = empty(gather);
  loose[0].add(0, {.src = input(0), .dst = output(0)});
  loose[0].add(1, {.src = input(0), .dst = output(0), .send = {1}});
  CHECK_REFUSED("writes output[0]: races with a write by lane 0", gather, loose);
}

TEST_CASE("scratch shared by lanes of different tiles is a race") {
  // Lane 1 may still read tile 0's scratch while lane 0 already writes tile 1's.
  Ranks ranks = empty(kBroadcast, 1, 1);
  ranks[0].add({.src = input(0), .dst = output(0), .send = {1}});
  ranks[1].add(0, {.recv = {0}, .dst = scratch(0)});
  ranks[1].add(1, {.src = scratch(0), .dst = output(0), .after_lane = 0, .after_step = 0});
  CHECK_REFUSED("reads scratch[0]: races with a write by lane 0", kBroadcast, ranks);
}

TEST_CASE("a barrier that releases a rank too early is found") {
  const Shape barrier{CollectiveKind::Barrier, 3};
  Ranks ranks = empty(barrier);
  for (int rank = 0; rank < 3; ++rank) {
    ranks[static_cast<size_t>(rank)].add({.src = input(0), .send = {(rank + 1) % 3}});
    ranks[static_cast<size_t>(rank)].add({.recv = {(rank + 2) % 3}, .dst = output(0)});
  }
  CHECK(refusal(barrier, ranks) == "rank 0 leaves the barrier without having heard of rank 1");
}

TEST_CASE("lengths: chunks that may differ cannot replace each other, and only known lengths are used") {
  Ranks parts = empty(kBroadcast, 2);
  parts[0].add({.src = input(0), .dst = output(1)});
  CHECK_REFUSED("source and destination can differ in length", kBroadcast, parts);

  Ranks shifted = empty(kBroadcast, 2);
  shifted[0].add({.src = input(0), .send = {1}});
  shifted[1].add({.recv = {0}, .dst = output(1)});
  CHECK_REFUSED("can be of another length than the place it is written to", kBroadcast, shifted);

  const Shape gather{CollectiveKind::Gather, 3, 0, true};
  Ranks relay = empty(gather, 1, 3);
  relay[2].add({.src = input(0), .send = {1}});
  relay[1].add({.recv = {2}, .dst = scratch(2), .send = {0}});
  CHECK_REFUSED("rank 1 does not know how long its chunk is", gather, relay);
}

TEST_CASE("ranks must agree on what they share") {
  Ranks ranks = exchange();
  ranks[1].slot_chunks = 2;
  CHECK(refusal(kAllReduce, ranks) == "rank 1 has slots for 2 chunks and rank 0 for 1");
  Ranks parts = {Schedule(kAllReduce, 0, 2), Schedule(kAllReduce, 1, 3)};
  CHECK(refusal(kAllReduce, parts) ==
        "rank 1 has 3 input and 3 output chunks, 3 a block, instead of 2 and 2, 2 a block");
  Ranks strangers = {Schedule(kAllReduce, 0), Schedule(kAllReduce, 0)};
  CHECK(refusal(kAllReduce, strangers) == "the schedule of rank 1 is one of rank 0 of 2");
  CHECK(refusal(kAllReduce, {Schedule(kAllReduce, 0)}) == "1 schedules for 2 ranks");
}

TEST_CASE("reductions in rank order have the association that the algorithm's picture shows") {
  const auto tree = [](const char* name, CollectiveKind kind, int n, int root, int rank) {
    const Shape shape{kind, n, root};
    return association(shape, build_all(*algorithm_by_name(kind, name).value(), shape), rank, 0);
  };
  CHECK(tree("one_shot", CollectiveKind::AllReduce, 4, 0, 2) == "(((0+1)+2)+3)");
  CHECK(tree("recursive_doubling", CollectiveKind::AllReduce, 4, 0, 3) == "((0+1)+(2+3))");
  CHECK(tree("recursive_doubling", CollectiveKind::AllReduce, 6, 0, 5) == "(((0+1)+(2+3))+(4+5))");
  CHECK(tree("ring", CollectiveKind::AllReduce, 3, 0, 1) == "((1+2)+0)");
  CHECK(tree("binomial", CollectiveKind::Reduce, 8, 0, 0) == "(((0+1)+(2+3))+((4+5)+(6+7)))");
  CHECK(tree("binomial", CollectiveKind::Reduce, 4, 2, 2) == "(((0+1)+2)+3)");
  CHECK(tree("knomial4", CollectiveKind::Reduce, 8, 0, 0) == "((((0+1)+(2+3))+(4+5))+(6+7))");
  CHECK(tree("halving_doubling", CollectiveKind::AllReduce, 4, 0, 0) == "((0+2)+(1+3))");
  CHECK(tree("halving_doubling", CollectiveKind::AllReduce, 3, 0, 0) == "((0+2)+1)");
  CHECK(tree("double_binary_tree", CollectiveKind::AllReduce, 6, 0, 0) == "((((0+1)+2)+3)+(4+5))");
}

TEST_CASE("all ranks of an all-reduce associate alike, so that they get the same bits") {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != CollectiveKind::AllReduce) continue;
    for (int n : {2, 3, 5, 8, 11}) {
      const Shape shape{algorithm.kind, n};
      const auto ranks = build_all(algorithm, shape);
      for (int chunk = 0; chunk < ranks[0].chunks.output; ++chunk)
        for (int rank = 1; rank < n; ++rank) {
          INFO(name_of(algorithm) << ", n " << n << ", chunk " << chunk << ", rank " << rank);
          CHECK(association(shape, ranks, rank, chunk) == association(shape, ranks, 0, chunk));
        }
    }
  }
}

TEST_CASE("folds of scratch, waits for the tile before, and Steps that only wait verify") {
  const Algorithm algorithm = folded_scratch();
  for (const int n : {1, 2, 3, 5, 8})
    for (const bool commutative : {true, false})
      for (const bool in_place : {false, true}) {
        const Shape shape{.kind = algorithm.kind, .nranks = n, .commutative = commutative};
        const Ranks ranks = build_all(algorithm, shape);
        CHECK(verify(shape, ranks,
                     {.slots = 1, .tiles = 4, .in_place = in_place, .association = Association::OneFold})
                  .message() == "");
        CHECK(verify(shape, ranks, {.slots = 1, .tiles = 4, .in_place = in_place, .short_chunks = 7})
                  .message() == "");
        CHECK(runs_right(shape, ranks, {.slots = 2, .in_place = in_place, .seed = 3}));
      }
}

TEST_CASE("the same in channels and in another order") {
  const Algorithm algorithm = channelled(folded_scratch(), 2, 5);
  const Shape shape{.kind = algorithm.kind, .nranks = 4};
  const Ranks ranks = build_all(algorithm, shape);
  CHECK(verify(shape, ranks, {.slots = 1}).message() == "");
  CHECK(runs_right(shape, ranks, {.seed = 4}));
}

TEST_CASE("a message that may overwrite what the tile before has not folded yet is found") {
  const Shape shape{CollectiveKind::AllReduce, 3};
  Ranks ranks = build_all(folded_scratch(), shape);
  for (Step& step : ranks[1].lanes[0].steps) {
    step.verbs = static_cast<uint8_t>(step.verbs & ~kBefore);
    step.wait_lane = Step::kNone;
  }
  CHECK_REFUSED("races with", shape, ranks);
  Ranks early = build_all(folded_scratch(), shape);
  early[2].lanes[1].steps[0].wait_lane = Step::kNone;
  CHECK_REFUSED("it does nothing", shape, early);
  early[2].lanes[1].steps.erase(early[2].lanes[1].steps.begin());
  for (Step& step : early[2].lanes[0].steps) step.wait_step = 0;
  CHECK_REFUSED("scratch", shape, early);
}

TEST_CASE("operands of scratch must be there, and be folded") {
  const Shape shape{CollectiveKind::AllReduce, 1};
  Ranks ranks = empty(shape, 1, 1);
  ranks[0].add({.recv = {0, scratch_operand(1)}, .src = input(0), .dst = output(0), .finish = true});
  CHECK_REFUSED("its operand ends at chunk 1, but there are 1", shape, ranks);
  ranks[0].peer_sets[0] = {0, scratch_operand(0)};
  CHECK_REFUSED("reads scratch[0], which was never written", shape, ranks);
  ranks[0].lanes[0].steps[0].verbs |= kBefore;
  CHECK_REFUSED("it waits for no lane", shape, ranks);
}
