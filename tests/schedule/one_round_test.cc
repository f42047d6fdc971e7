// What an algorithm of one round means for each rank, and which algorithms have one.
#include "exec/one_round.h"
#include "algorithms/algorithm.h"
#include "catch.h"

namespace rondo::test {
namespace {

std::string text(const OneRound& round) {
  std::string text = round.posts ? "posts" : "";
  for (const OneRound::Read& read : round.reads) {
    text += " " + std::to_string(read.dst) + "=";
    for (const OneRound::Source source : read.sources)
      text += "(" + std::to_string(source.rank) + "," + std::to_string(source.chunk) + ")";
    if (read.finish) text += "!";
  }
  return text;
}

std::string text(CollectiveKind kind, const char* name, int rank) {
  const Algorithm& row = *algorithm_by_name(kind, name).value();
  return text(one_round({.kind = kind, .nranks = 3, .root = 1}, rank, row.build));
}

TEST_CASE("rows that say so have one round") {
  for (const Algorithm& row : algorithms()) {
    INFO(collective_name(row.kind) << ": " << row.name);
    for (int nranks = 1; row.one_round && nranks <= 6; ++nranks)
      for (int root = 0; root < (has_root(row.kind) ? nranks : 1); ++root)
        for (int rank = 0; rank < nranks; ++rank)
          CHECK(has_one_round(row.build({.kind = row.kind, .nranks = nranks, .root = root}, rank)));
  }
}

TEST_CASE("what sends more than Input, or after it has received, has more than one round") {
  for (const char* name : {"two_shot", "ring", "recursive_doubling"}) {
    const Algorithm& row = *algorithm_by_name(CollectiveKind::AllReduce, name).value();
    CHECK_FALSE(has_one_round(row.build({.kind = row.kind, .nranks = 4}, 1)));
  }
}

TEST_CASE("a rank reads what the others would send it") {
  CHECK(text(CollectiveKind::AllReduce, "one_shot", 2) == "posts 0=(0,0)(1,0)(2,0)!");
  CHECK(text(CollectiveKind::Broadcast, "flat", 0) == " 0=(1,0)");
  CHECK(text(CollectiveKind::Broadcast, "flat", 1) == "posts 0=(1,0)");
  CHECK(text(CollectiveKind::Reduce, "flat", 0) == "posts");
  CHECK(text(CollectiveKind::Reduce, "flat", 1) == " 0=(0,0)(1,0)(2,0)!");
  CHECK(text(CollectiveKind::AllGather, "direct", 0) == "posts 0=(0,0) 2=(2,0) 1=(1,0)");
  CHECK(text(CollectiveKind::ReduceScatter, "direct", 1) == "posts 0=(0,1)(1,1)(2,1)!");
  CHECK(text(CollectiveKind::AllToAll, "direct", 0) == "posts 0=(0,0) 2=(2,0) 1=(1,0)");
  CHECK(text(CollectiveKind::Gather, "linear", 1) == " 1=(1,0) 2=(2,0) 0=(0,0)");
  CHECK(text(CollectiveKind::Scatter, "linear", 2) == " 0=(1,2)");
  CHECK(text(CollectiveKind::Barrier, "flat", 1) == "posts 0=(2,0) 0=(0,0)");
  CHECK(text(CollectiveKind::Scan, "flat", 1) == "posts 0=(0,0)(1,0)");
  CHECK(text(CollectiveKind::Exscan, "flat", 0) == "posts");
  CHECK(text(CollectiveKind::Exscan, "flat", 2) == " 0=(0,0)(1,0)");
}

}  // namespace
}  // namespace rondo::test
