// SPDX-License-Identifier: Apache-2.0
// MachineView: a topology as rondo-topo shows it: nodes and links read through the C API, and the tree of PCI
// devices below the NUMA nodes.
#pragma once

#include <string>
#include <vector>

#include "program.h"
#include "rondo/topology.h"

namespace rondo::topo {

using namespace tool;

struct ViewedLink {
  int to;
  std::string cls;
  int count;
  double bandwidth;  // GB/s
};

struct ViewedNode {
  std::string kind, name, bus_id;
  int host;
  std::vector<ViewedLink> links;  // that leave it
  std::vector<int> below = {};    // PCI devices, in the order of the nodes
  int above = -1;                 // the node that it is below
};

struct MachineView {
  explicit MachineView(rondo_topology_t topology);

  std::vector<ViewedNode> nodes;
  std::vector<std::string> remarks;

  std::vector<int> of_kind(const std::string& kind) const;
};

/// The colour of links of a class in pictures: "#2e7d32".
const char* colour_of(const std::string& link_class);

/// "48.0"
std::string gigabytes(double bandwidth);

/// Within quotation marks of Graphviz.
std::string quoted(const std::string& text);

}  // namespace rondo::topo
