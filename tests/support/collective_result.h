// SPDX-License-Identifier: Apache-2.0
// What the collectives are defined to do, written down for tests alone: it shares nothing with the traits
// from which Rondo derives the same (base/collective.h). Pure functions: any thread.
#pragma once

#include <optional>

#include "base/collective.h"

namespace rondo::test {

/// A block of a rank's recvbuf after a call: block `block` of the sendbufs of the ranks [first, end),
/// combined in this order. A buffer that is one vector may be divided into any number of blocks.
struct BlockResult {
  int first = 0;
  int end = 0;
  int block = 0;
  bool operator==(const BlockResult&) const = default;
};

/// nullopt: the call leaves the block as it was.
constexpr std::optional<BlockResult> block_result(CollectiveKind kind, int nranks, int root, int rank,
                                                  int block) {
  const auto only_at_root = [&](BlockResult result) {
    return rank == root ? std::optional(result) : std::nullopt;
  };
  switch (kind) {
    case CollectiveKind::AllReduce: return BlockResult{0, nranks, block};
    case CollectiveKind::Reduce: return only_at_root({0, nranks, block});
    case CollectiveKind::ReduceScatter: return BlockResult{0, nranks, rank};
    case CollectiveKind::Scan: return BlockResult{0, rank + 1, block};
    case CollectiveKind::Exscan: return rank > 0 ? std::optional(BlockResult{0, rank, block}) : std::nullopt;
    case CollectiveKind::Broadcast: return BlockResult{root, root + 1, block};
    case CollectiveKind::Scatter: return BlockResult{root, root + 1, rank};
    case CollectiveKind::AllGather: return BlockResult{block, block + 1, 0};
    case CollectiveKind::Gather: return only_at_root({block, block + 1, 0});
    case CollectiveKind::AllToAll: return BlockResult{block, block + 1, rank};
    case CollectiveKind::Barrier:
    case CollectiveKind::PointToPoint: break;
  }
  return std::nullopt;
}

constexpr bool has_result(CollectiveKind kind, int nranks, int root, int rank) {
  return block_result(kind, nranks, root, rank, 0).has_value();
}

/// Whether the result of another rank is made of this rank's data.
constexpr bool gives(CollectiveKind kind, int nranks, int root, int rank) {
  for (int other = 0; other < nranks; ++other)
    for (int block = 0; other != rank && block < nranks; ++block)
      if (const auto from = block_result(kind, nranks, root, other, block))
        if (from->first <= rank && rank < from->end) return true;
  return false;
}

/// Whether avg is defined: the reductions in which every result has an operand of each rank.
constexpr bool averages(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Reduce ||
         kind == CollectiveKind::ReduceScatter;
}

}  // namespace rondo::test
