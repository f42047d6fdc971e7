// SPDX-License-Identifier: Apache-2.0
// Splitting off: replaces what enters and leaves a switch by edges past it, until GPUs alone remain, joined
// by logical edges that know their way.
//
//   a --2--> w --2--> b              a --1--> b, a --1--> c
//   b --2--> w --2--> c     =>       b --1--> c, b --1--> a
//   c --2--> w --2--> a              c --1--> a, c --1--> b
//
// At a switch that receives as much as it sends, pairs of an in-edge and an out-edge can always be split off
// until none is left, at no cost to what GPUs can receive (J. Bang-Jensen, A. Frank and B. Jackson,
// "Preserving and increasing local edge-connectivity in mixed graphs", 1995; L. Zhao et al., "ForestColl",
// arXiv 2402.06787). Which pairs come first decides how deep trees become: capacity is dealt out in rounds,
// so that each neighbour gets edges to all others and trees below an NVSwitch have depth 1.
#pragma once

#include <cstdint>
#include <vector>

#include "gather_network.h"

namespace rondo {

/// Capacity from a GPU to another by one way.
struct Strand {
  int64_t amount = 0;
  std::vector<int> nodes;  // of the CompactGraph, from the GPU through switches to the other
};

/// Strands from each GPU to each other one.
class LogicalGraph {
 public:
  explicit LogicalGraph(int gpus)
      : gpus_(gpus), strands_(static_cast<size_t>(gpus) * static_cast<size_t>(gpus)) {}

  int gpus() const { return gpus_; }
  std::vector<Strand>& strands(int from, int to) { return strands_[index(from, to)]; }
  int64_t capacity(int from, int to) const;

 private:
  size_t index(int from, int to) const {
    return static_cast<size_t>(from) * static_cast<size_t>(gpus_) + static_cast<size_t>(to);
  }
  int gpus_;
  std::vector<std::vector<Strand>> strands_;
};

/// Of a network that is balanced and has no shortfall. Once the limit is reached, capacity is lost.
LogicalGraph split_off_switches(GatherNetwork network);

}  // namespace rondo
