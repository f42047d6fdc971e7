// SPDX-License-Identifier: Apache-2.0
// PlanView: what rondo-topo draws in colours: the trees of one root of a plan, or rings.
#pragma once

#include <string>
#include <vector>

#include "machine_view.h"

namespace rondo::topo {

/// What a tree or a ring carries over a link, all its edges together.
struct PlanLine {
  int from, to;  // nodes
  double bandwidth;
};

/// A tree or a ring.
struct PlanFlow {
  std::string name;  // "tree 1", "channel 0"
  std::string text;  // "tree 1: 2 of 6 parts of gpu0's block, 5.7 GB/s, depth 3"
  std::vector<PlanLine> lines;
};

struct PlanView {
  std::string text;  // "4 trees from gpu0, of a plan for all_gather at 120.0 GB/s"
  std::string idle;  // of links that none of them crosses: "crossed by no tree of gpu0"
  std::vector<PlanFlow> flows;
};

/// `root` is the number of a GPU among all GPUs.
PlanView trees_of_plan(rondo_topology_t topology, const MachineView& machine, int root);

/// The rings that ring_table() lists.
PlanView fastest_rings(rondo_topology_t topology, const MachineView& machine);

/// Colours that also people with colour blindness tell apart. There are 8, as many as a root has trees at
/// most; further rings begin again.
const char* flow_colour(size_t flow);

}  // namespace rondo::topo
