// SPDX-License-Identifier: Apache-2.0
// Forest: how data flows from every GPU to all others over the links of a machine, as plain data: k spanning
// trees a root, of whole weights. It says how all-gather moves data (a root's block is divided into k parts;
// a tree of weight m carries m of them) and, on the reversed graph, how reduce-scatter does. Any thread.
//
//   root 0, weight 2      root 0, weight 1
//          0                     0             k = 3: edge 0 -> 1 of the first tree has weight 2, which its
//        /   \                   |             routes share: one goes straight, or one by each of two
//       1     2                  3             switches.
//       |                       / \            .
//       3                      1   2
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "limit/rational.h"

namespace rondo {

/// A link, beside the others of a Hop.
struct LinkShare {
  int link = 0;       // of the TopologyGraph
  int64_t share = 1;  // of the bytes: shares are relative
  friend bool operator==(const LinkShare&, const LinkShare&) = default;
};

/// Links that bytes cross side by side: one, several between the same two nodes, or one for each of several
/// equal switches.
using Hop = std::vector<LinkShare>;

inline int64_t sum_of_shares(const Hop& hop) {
  int64_t sum = 0;
  for (const LinkShare& part : hop) sum += part.share;
  return sum;
}

/// From one GPU to another, through switches alone. Hops follow one another: what enters a switch by one hop
/// leaves it by the next.
struct GpuRoute {
  int64_t weight = 1;
  std::vector<Hop> hops;
  friend bool operator==(const GpuRoute&, const GpuRoute&) = default;
};

struct TreeEdge {
  int parent = 0;  // ranks
  int child = 0;
  int depth = 1;                 // of the child; the root has 0
  std::vector<GpuRoute> routes;  // their weights add up to the tree's
  friend bool operator==(const TreeEdge&, const TreeEdge&) = default;
};

struct Tree {
  int root = 0;
  int64_t weight = 1;
  std::vector<TreeEdge> edges;  // one to each other rank, after the one to its parent

  int depth() const { return edges.empty() ? 0 : std::ranges::max(edges, {}, &TreeEdge::depth).depth; }
  friend bool operator==(const Tree&, const Tree&) = default;
};

struct Forest {
  std::vector<int> gpus;    // the node of each rank
  int64_t k = 1;            // sum of the weights of each root's trees
  std::vector<Tree> trees;  // by root
  Rational scale;           // U, in s/kB: what the busiest link takes if trees carry 1 kB a unit of weight
  Rational bus_kBps;        // bus bandwidth: (n - 1) k / U
  bool stopped = false;     // the search reached its limit; it might have found a faster forest

  int depth() const {
    int deepest = 0;
    for (const Tree& tree : trees) deepest = std::max(deepest, tree.depth());
    return deepest;
  }
  friend bool operator==(const Forest&, const Forest&) = default;
};

}  // namespace rondo
