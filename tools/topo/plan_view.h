// SPDX-License-Identifier: Apache-2.0
// PlanView: the trees of one root of the plan of a topology, as rondo-topo draws them.
#pragma once

#include <string>
#include <vector>

#include "machine_view.h"

namespace rondo::topo {

/// What a tree carries over a link, all its edges together.
struct PlanLine {
  int from, to;  // nodes
  double bandwidth;
};

struct PlanTree {
  int parts = 0;  // of the root's block
  int depth = 0;
  std::vector<PlanLine> lines;
};

struct PlanView {
  /// `root` is the number of a GPU among all GPUs.
  PlanView(rondo_topology_t topology, const MachineView& machine, int root);

  std::string root;  // name
  std::vector<PlanTree> trees;
  int parts_per_root = 1;
  double bandwidth = 0;       // of the plan: bus bandwidth, GB/s
  double root_bandwidth = 0;  // of the root's block to each other GPU

  /// "tree 1: 2 of 6 parts of gpu0's block, 5.7 GB/s, depth 3"
  std::string tree_text(size_t tree) const;
  /// "4 trees from gpu0, of a plan for all_gather at 120.0 GB/s"
  std::string text() const;
};

/// Colours that also people with colour blindness tell apart; a root has at most 8 trees.
const char* tree_colour(size_t tree);

}  // namespace rondo::topo
