// SPDX-License-Identifier: Apache-2.0
// Which rank a wait on a GPU is said to be for: the one that has progressed least.
#include <vector>

#include "catch.h"
#include "watchdog.h"

namespace rondo {
namespace {

/// The words of 4 ranks, all within call 7, rank 0 furthest and rank 3 least.
class FourRanks {
 public:
  static constexpr int kRanks = 4;
  FourRanks() : memory_(WordTable::bytes(kRanks) / sizeof(RankWords) + 1) {
    for (int rank = 0; rank < kRanks; ++rank) {
      of(rank).busy = 1;
      of(rank).made = 7;
      of(rank).ticks = static_cast<uint64_t>(100 - rank);
    }
  }
  RankWords& of(int rank) { return words().rank(rank); }
  int late(int self) { return late_rank(words(), kRanks, self); }

 private:
  WordTable words() { return {reinterpret_cast<std::byte*>(memory_.data()), kRanks}; }
  std::vector<RankWords> memory_;
};

}  // namespace

TEST_CASE("of ranks within the same call, another one that has launched least is late") {
  FourRanks ranks;
  CHECK(ranks.late(0) == 3);
  CHECK(ranks.late(3) == 2);
}

TEST_CASE("a rank that is done with its call is late before one that is slower within it") {
  FourRanks ranks;
  ranks.of(1).busy = 0;
  CHECK(ranks.late(0) == 1);
  CHECK(ranks.late(1) == 3);  // not itself
}

TEST_CASE("a rank that has not reached the call is late before all others") {
  FourRanks ranks;
  ranks.of(1).busy = 0;
  ranks.of(2).made = 6;
  CHECK(ranks.late(0) == 2);
  CHECK(ranks.late(2) == 1);
}

TEST_CASE("a rank alone waits for no other") {
  std::vector<RankWords> memory(WordTable::bytes(1) / sizeof(RankWords) + 1);
  CHECK(late_rank({reinterpret_cast<std::byte*>(memory.data()), 1}, 1, 0) == -1);
}

}  // namespace rondo
