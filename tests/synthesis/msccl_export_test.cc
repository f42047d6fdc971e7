// SPDX-License-Identifier: Apache-2.0
// Schedules written as MSCCL's files and read again: rows of the table, and what was found for machines.
#include <algorithm>
#include <map>

#include "catch.h"
#include "concrete_run.h"
#include "formats/msccl_xml.h"
#include "graph/known_machines.h"
#include "limit/bound.h"
#include "schedule/verifier.h"
#include "search/find_forest.h"
#include "search/find_rings.h"
#include "seed.h"
#include "shapes.h"
#include "synthesis/forest_algorithm.h"
#include "synthesis/msccl_program.h"
#include "synthesis/msccl_schedules.h"
#include "synthesis/rings_algorithm.h"

using namespace rondo;

namespace {

constexpr int kMaxSlots = 8;
constexpr int kMaxRanks = 33;

struct Traffic {
  int messages = 0;
  int chunks = 0;
  bool operator==(const Traffic&) const = default;
};

/// By sender and receiver: what travels.
std::map<std::pair<int, int>, Traffic> traffic(const std::vector<Schedule>& ranks) {
  std::map<std::pair<int, int>, Traffic> found;
  for (const Schedule& schedule : ranks)
    for (const Lane& lane : schedule.lanes)
      for (const Step& step : lane.steps)
        if (step.has(kSend))
          for (const int peer : schedule.peer_sets[step.send_set]) {
            ++found[{schedule.rank, peer}].messages;
            found[{schedule.rank, peer}].chunks += step.count;
          }
  return found;
}

/// The fewest slots with which Schedules verify.
int slots_of(const Shape& shape, const std::vector<Schedule>& ranks) {
  int slots = 1;
  while (slots <= kMaxSlots && !verify(shape, ranks, {.slots = slots, .tiles = 2}).ok()) ++slots;
  return slots;
}

/// Whether the Schedules of a program verify and compute what is right with some slots, in place or not.
void check_right(const Shape& shape, const std::vector<Schedule>& ranks, const std::string& text) {
  for (const bool in_place : {false, true}) {
    if (in_place && shape.kind == CollectiveKind::AllToAll) continue;  // as for MSCCL's own files
    Status status;
    int slots = 1;
    for (; slots <= kMaxSlots; slots *= 2)
      if ((status =
               verify(shape, ranks, {.slots = slots, .tiles = 3, .in_place = in_place, .short_chunks = 2}))
              .ok())
        break;
    INFO((in_place ? "in place: " : "") << status.message() << "\n" << text);
    REQUIRE(status.ok());
    REQUIRE(runs_right(shape, ranks, {.slots = slots, .in_place = in_place, .seed = test::test_seed(1)}));
  }
}

/// Writes, reads and compares.
void check_export(const Shape& shape, const std::vector<Schedule>& ranks, const std::string& name) {
  INFO(name << " of " << shape.nranks << " ranks in groups of " << shape.levels.outermost());
  const auto text = msccl_text_of(shape, ranks, "x <\"y\">");
  REQUIRE(text.status().message() == "");
  const auto program = msccl_program_from_xml(text.value(), "x.xml");
  REQUIRE(program.status().message() == "");
  CHECK(program.value().name == "x <\"y\">");
  CHECK(program.value().collective == shape.kind);
  CHECK(program.value().parts == ranks[0].chunks.parts);
  CHECK(msccl_xml(program.value()) == text.value());
  const auto again = schedules_of(program.value());
  INFO(text.value());
  REQUIRE(again.status().message() == "");
  CHECK(traffic(again.value()) == traffic(ranks));
  CHECK(slots_of(shape, again.value()) == slots_of(shape, ranks));
  check_right(shape, again.value(), text.value());
}

bool is_for_msccl(CollectiveKind kind) {
  return std::ranges::find(kMscclCollectives, kind) != kMscclCollectives.end();
}

std::vector<int> first_gpus(const TopologyGraph& graph, int n) {
  return {graph.gpus().begin(), graph.gpus().begin() + n};
}

}  // namespace

/// Stages over levels that share Scratch do.
bool waits_for_tile_before(const std::vector<Schedule>& ranks) {
  return std::ranges::any_of(ranks[0].lanes, [](const Lane& lane) {
    return std::ranges::any_of(lane.steps, [](const Step& step) { return step.has(kBefore); });
  });
}

TEST_CASE("every row of the table that MSCCL has a collective for is written, read again and right") {
  int written = 0, refused = 0;
  for (const Algorithm& row : algorithms()) {
    if (!is_for_msccl(row.kind)) continue;
    for (int n = 2; n <= 8; ++n)
      for (const Shape& shape : supported_shapes(row, n)) {
        if (shape.varying || !shape.commutative) continue;
        const auto ranks = build_all(row, shape);
        if (waits_for_tile_before(ranks)) {
          CHECK(msccl_text_of(shape, ranks, "x").status().message().find("waits for the tile before") !=
                std::string::npos);
          ++refused;
          continue;
        }
        check_export(shape, ranks, name_of(row));
        ++written;
      }
  }
  CHECK(written > 100);
  CHECK(refused > 0);
}

TEST_CASE("a row of more ranks is read again with its messages, and needs as few slots") {
  for (const Algorithm& row : algorithms()) {
    if (!is_for_msccl(row.kind)) continue;
    for (int n = 9; n <= kMaxRanks; ++n) {
      const Shape shape{.kind = row.kind, .nranks = n};
      if (!row.supports(shape)) continue;
      if (row.max_count(shape) == 1 && n != 16 && n != 31) continue;  // each chunk is a message anyway
      INFO(name_of(row) << " of " << n << " ranks");
      const auto ranks = build_all(row, shape);
      const auto text = msccl_text_of(shape, ranks, "x");
      REQUIRE(text.status().message() == "");
      const auto again = schedules_of(msccl_program_from_xml(text.value(), "x.xml").take());
      REQUIRE(again.status().message() == "");
      CHECK(traffic(again.value()) == traffic(ranks));
      CHECK(slots_of(shape, again.value()) == slots_of(shape, ranks));
    }
  }
}

TEST_CASE("forests and rings of machines are written, read again and right") {
  for (const char* name : {"dgx-1v", "hgx-h100", "mi250", "pcie-8gpu"})
    for (int n = 2; n <= 8; ++n) {
      const auto built = TopologyGraph::build(known_machine(name).take());
      REQUIRE(built.ok());
      const std::vector<int> gpus = first_gpus(built.value(), n);
      const TopologyGraph graph = fabric_or_all(built.value(), gpus);
      const auto forest = find_forest(graph, gpus, {.max_flows = 20'000, .max_time = std::chrono::hours(1)});
      REQUIRE(forest.status().message() == "");
      const auto rings = find_rings(graph, gpus, {.max_steps = 20'000, .max_time = std::chrono::hours(1)});
      std::vector<std::vector<int>> orders;
      if (rings.ok())
        for (const RingChannel& channel : rings.value().channels) orders.push_back(channel.order);
      for (const CollectiveKind kind : kMscclCollectives) {
        const Shape shape{.kind = kind, .nranks = n};
        if (has_forest(kind)) {
          const Algorithm row = forest_algorithm(kind, std::make_shared<const Forest>(forest.value()));
          REQUIRE(row.supports(shape));
          check_export(shape, build_all(row, shape), std::string(name) + ", " + name_of(row));
        }
        if (has_rings(kind) && !orders.empty()) {
          const Algorithm row = rings_algorithm(kind, orders);
          REQUIRE(row.supports(shape));
          check_export(shape, build_all(row, shape), std::string(name) + ", " + name_of(row));
        }
      }
    }
}

TEST_CASE("a fold of what is in scratch and of messages becomes a chain of sums") {
  // Rank 0 keeps rank 1's operand in scratch, and folds it where it lies with its own and rank 2's.
  const Shape shape{.kind = CollectiveKind::AllReduce, .nranks = 3};
  for (const bool into_operand : {false, true}) {
    std::vector<Schedule> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.emplace_back(shape, rank, 1, rank == 0 ? 1 : 0);
    ranks[0].add({.recv = {1}, .dst = scratch(0)});
    if (into_operand) {
      ranks[0].add({.recv = {2, scratch_operand(0), 0}, .src = input(0), .dst = scratch(0), .finish = true});
      ranks[0].add({.src = scratch(0), .dst = output(0), .send = {1, 2}});
    } else {
      ranks[0].add({.recv = {scratch_operand(0), 0, 2},
                    .src = input(0),
                    .dst = output(0),
                    .send = {2, 1},
                    .finish = true});
    }
    for (const int rank : {1, 2}) {
      ranks[static_cast<size_t>(rank)].add({.src = input(0), .send = {0}});
      ranks[static_cast<size_t>(rank)].add({.recv = {0}, .dst = output(0)});
    }
    REQUIRE(verify(shape, ranks, {.slots = 1}).message() == "");
    check_export(shape, ranks, into_operand ? "into an operand" : "into the output");
  }
}

TEST_CASE("what MSCCL's files cannot say is refused by name") {
  const auto refused = [](const Shape& shape, const std::vector<Schedule>& ranks) {
    const auto text = msccl_text_of(shape, ranks, "t");
    REQUIRE_FALSE(text.ok());
    CHECK(text.status().code() == Code::Unsupported);
    return text.status().message();
  };
  const auto built = [](CollectiveKind kind, const char* name, Shape& shape) {
    shape.kind = kind;
    return build_all(*algorithm_by_name(kind, name).value(), shape);
  };
  Shape shape{.nranks = 4};
  CHECK(refused(shape, built(CollectiveKind::Broadcast, "chain", shape)) ==
        "MSCCL's files have no broadcast: expected all_reduce, all_gather, reduce_scatter or all_to_all");
  shape.commutative = false;
  CHECK(refused(shape, built(CollectiveKind::AllReduce, "one_shot", shape)) ==
        "MSCCL's files cannot keep operands in rank order");
  shape = {.nranks = 4, .varying = true};
  CHECK(refused(shape, built(CollectiveKind::AllGather, "ring", shape)) ==
        "MSCCL's files have blocks of one length");
  shape = {.nranks = 1};
  CHECK(refused(shape, built(CollectiveKind::AllReduce, "ring", shape)) ==
        "it has one rank: MSCCL's files have at least two");
  shape = {.kind = CollectiveKind::AllReduce, .nranks = 2};
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    Schedule& schedule = ranks.emplace_back(shape, rank, 72);
    schedule.slot_chunks = 72;
    schedule.add({.src = input(0), .send = {1 - rank}, .count = 72});
  }
  CHECK(refused(shape, ranks) ==
        "rank 0 lane 0 step 0 (input[0..71], send 1) moves 72 chunks: MSCCL's steps move at most 71");
  ranks[0] = Schedule(shape, 0);
  ranks[0].add(0, {.src = input(0), .send = {1}});
  ranks[0].add(1, {.after_lane = 0, .after_tile_before = true});
  CHECK(refused(shape, ranks) ==
        "rank 0 lane 1 step 0 (wait, after (0, 0) of the tile before) waits for the tile before, which "
        "MSCCL's programs "
        "cannot");
}
