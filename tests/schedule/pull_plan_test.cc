// SPDX-License-Identifier: Apache-2.0
// The rounds of an algorithm from each rank's point of view, and which algorithms have rounds.
#include "schedule/pull_plan.h"

#include <algorithm>

#include "algorithms/algorithm.h"
#include "catch.h"
#include "collective_result.h"

namespace rondo::test {
namespace {

std::string text(const PullRound& round) {
  std::string text = round.posts ? "posts" : "";
  for (const PullRound::Gather& read : round.reads) {
    text += " " + std::to_string(read.dst) + "=";
    for (const PullRound::Source source : read.sources)
      text += "(" + std::to_string(source.rank) + "," + std::to_string(source.chunk) + ")";
    if (read.finish) text += "!";
  }
  return text;
}

std::string text(CollectiveKind kind, const char* name, int rank) {
  const Algorithm& row = *algorithm_by_name(kind, name).value();
  const PullPlan rounds = pull_plan_of(kind, row.build({.kind = kind, .nranks = 3, .root = 1}, rank));
  std::string all = text(rounds.all.front());
  for (size_t i = 1; i < rounds.all.size(); ++i)
    all += ", then " + std::to_string(rounds.all[i].posted) + ": " + text(rounds.all[i]);
  return all;
}

TEST_CASE("rows have as many rounds as they say") {
  for (const Algorithm& row : algorithms()) {
    INFO(collective_name(row.kind) << ": " << row.name);
    for (int nranks = 2; row.rounds != 0 && nranks <= 6; ++nranks)
      for (int root = 0; root < (has_root(row.kind) ? nranks : 1); ++root)
        for (int rank = 0; rank < nranks; ++rank)
          CHECK(count_rounds(row.build({.kind = row.kind, .nranks = nranks, .root = root}, rank)) ==
                row.rounds);
  }
}

TEST_CASE("a schedule that forwards, or sends several chunks of its Output, has no rounds") {
  for (const char* name : {"ring", "recursive_doubling", "double_binary_tree"}) {
    const Algorithm& row = *algorithm_by_name(CollectiveKind::AllReduce, name).value();
    INFO(name);
    CHECK(count_rounds(row.build({.kind = row.kind, .nranks = 4}, 1)) == 0);
  }
}

TEST_CASE("a schedule that sends the chunk of a third rank has no rounds") {
  Schedule schedule({.kind = CollectiveKind::Scatter, .nranks = 3}, 0);
  schedule.add({.src = input(2), .send = {1}});
  CHECK(count_rounds(schedule) == 0);
}

/// What the rank's only round must be, in the order of Output chunks.
PullRound round_of(const Shape& shape, int rank, int output_chunks) {
  PullRound round{.posts = gives(shape.kind, shape.nranks, shape.root, rank)};
  for (int chunk = 0; chunk < output_chunks; ++chunk) {
    const auto from = block_result(shape.kind, shape.nranks, shape.root, rank, chunk);
    if (!from) continue;
    PullRound::Gather& read = round.reads.emplace_back();
    read.dst = chunk;
    read.finish = averages(shape.kind);
    for (int source = from->first; source < from->end; ++source)
      read.sources.push_back({source, from->block});
  }
  return round;
}

TEST_CASE("in a single round, a rank reads what its result is made of") {
  for (const Algorithm& row : algorithms())
    for (int nranks = 2; row.rounds == 1 && row.kind != CollectiveKind::Barrier && nranks <= 6; ++nranks)
      for (int root = 0; root < (has_root(row.kind) ? nranks : 1); ++root)
        for (int rank = 0; rank < nranks; ++rank) {
          const Shape shape{.kind = row.kind, .nranks = nranks, .root = root};
          const Schedule schedule = row.build(shape, rank);
          PullRound round = pull_plan_of(row.kind, schedule).all.front();
          std::sort(round.reads.begin(), round.reads.end(),
                    [](const auto& a, const auto& b) { return a.dst < b.dst; });
          INFO(collective_name(row.kind) << ": " << row.name << ", rank " << rank << " of " << nranks);
          CHECK(text(round) == text(round_of(shape, rank, schedule.chunks.output)));
        }
}

TEST_CASE("a rank reads what the others would send it") {
  CHECK(text(CollectiveKind::AllReduce, "one_shot", 2) == "posts 0=(0,0)(1,0)(2,0)!");
  CHECK(text(CollectiveKind::AllReduce, "two_shot", 1) ==
        "posts 1=(0,1)(1,1)(2,1)!, then 1: posts 0=(0,0) 2=(2,2)");
  CHECK(text(CollectiveKind::AllToAll, "direct", 0) == "posts 0=(0,0) 2=(2,0) 1=(1,0)");
  CHECK(text(CollectiveKind::Gather, "linear", 1) == " 1=(1,0) 2=(2,0) 0=(0,0)");
  CHECK(text(CollectiveKind::Barrier, "flat", 1) == "posts 0=(2,0) 0=(0,0)");
}

}  // namespace
}  // namespace rondo::test
