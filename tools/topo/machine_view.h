// SPDX-License-Identifier: Apache-2.0
// MachineView: a topology as rondo-topo shows it: nodes and links read through the C API, and the tree of PCI
// devices below the NUMA nodes.
#pragma once

#include <string>
#include <vector>

#include "rondo/topology.h"

namespace rondo::topo {

/// Ends the program with the library's error unless a call succeeded.
void require(rondo_status_t status);

/// Ends the program with that cause.
[[noreturn]] void fail(const std::string& cause);

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

/// The exit code of a program that could not do what was requested.
inline constexpr int kFailed = 1;

/// The colour of links of a class in pictures: "#2e7d32".
const char* colour_of(const std::string& link_class);

/// "48.0"
std::string gigabytes(double bandwidth);

/// As text or an attribute of XML.
std::string escaped(const std::string& text);
/// Within quotation marks of Graphviz.
std::string quoted(const std::string& text);
/// With a question mark for each byte that is no character in UTF-8, or a control character.
std::string printable(const std::string& text);

}  // namespace rondo::topo
