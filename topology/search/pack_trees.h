// SPDX-License-Identifier: Apache-2.0
// Packing: k spanning trees a root into the capacities between GPUs, as Edmonds' condition promises. Trees
// grow by single edges and with their whole weight, as long as what is left can still complete all of them,
// which one flow tells; if no edge can take a tree's whole weight, one takes a part, and the rest becomes a
// tree of its own (R. E. Tarjan, "A good algorithm for edge-disjoint branching", 1974; K. Berczi and A.
// Frank, "Packing arborescences", 2010).
//
//   Edge x -> y can take min(m, c(x, y), flow(x to y) - sum of the weights of the others) of a tree of weight
//   m, if in the flow each other incomplete tree T receives its weight from x and is joined to all its GPUs:
//
//        .---- weight ----> T ---> GPUs that T has reached
//       x ---- c ---> ... ---> y
//
// Edges from the GPUs nearest to the root come first. Trees grow level by level, all at the same time, which
// keeps them shallow where capacity is scarce, and in a second attempt root by root, which divides fewer; the
// attempt of the lower depth, then of the fewer trees counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "split_off.h"
#include "work_limit.h"

namespace rondo {

struct PackedTree {
  int root = 0;
  int64_t weight = 0;
  std::vector<int> parent;   // of each GPU; -1: the root, or not reached
  std::vector<int> depth;    // -1: not reached
  std::vector<int> reached;  // GPUs, in the order in which the tree reached them
};

/// Nothing: the limit was reached.
std::optional<std::vector<PackedTree>> pack_trees(const LogicalGraph& graph, int64_t k, WorkLimit& limit);

}  // namespace rondo
