// SPDX-License-Identifier: Apache-2.0
// The best path from each GPU to every GPU, NIC and NUMA node: its class, as NCCL and nvidia-smi name it, and
// what it carries. The path of the best class wins, then the one with the highest bandwidth, then the one
// with the fewest links.
//
// Paths are immutable; any thread. The graph has to outlive them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "graph/topology_graph.h"

namespace rondo {

/// Classes of paths, best first.
enum class PathClass : uint8_t {
  Loc,  // the GPU itself
  Nvl,  // NVLinks or xGMI links, through NVSwitches or not
  Nvb,  // the same through one GPU in between
  C2C,  // the chip's own links to its CPU
  Pix,  // at most one PCI switch
  Pxb,  // several PCI switches, but no CPU
  P2C,  // to a NIC: by C2C to the CPU, then PCIe
  Pxn,  // to a NIC: by NVLink to a GPU, then PCIe without a CPU
  Phb,  // PCIe through a CPU
  Sys,  // between NUMA nodes
  Net,  // between hosts
  Dis,  // there is no path
};

/// "NVL", "PIX", ...
std::string_view path_class_name(PathClass cls);

struct PathSummary {
  PathClass cls = PathClass::Dis;
  int64_t kBps = 0;  // of its narrowest link
  int hops = 0;      // links from end to end
  friend auto operator<=>(const PathSummary&, const PathSummary&) = default;
};

class Paths {
 public:
  explicit Paths(const TopologyGraph& graph);

  /// From a GPU to another node. Dis if there is none.
  PathSummary between(int gpu, int node) const;
  /// The same from one GPU to all nodes.
  static std::vector<PathSummary> summaries(const TopologyGraph& graph, int gpu);
  /// The links of that path, in order; empty if there is none. Through several NVSwitches: of one after the
  /// other.
  std::vector<int> links(int gpu, int node) const;

 private:
  // A path as its last link and the path before it.
  struct Label {
    int node;
    PathClass cls;
    int64_t kBps;
    int hops;
    std::vector<int> links;  // the last one, or those through NVSwitches; none: at the GPU itself
    int previous;            // label
  };
  struct FromGpu {
    std::vector<Label> labels;
    std::vector<int> best;  // of each node: a label; -1: none
    PathSummary summary(size_t node) const;
  };

  static FromGpu paths_from(const TopologyGraph& graph, int gpu);
  const FromGpu& source(int gpu) const {
    return sources_[static_cast<size_t>(source_of_[static_cast<size_t>(gpu)])];
  }

  std::vector<FromGpu> sources_;
  std::vector<int> source_of_;  // by node; -1: not a GPU
};

/// Summaries of the best paths of large machines: found when first needed, 4 bytes each, since few differ.
class PathTable {
 public:
  /// Always of the same graph.
  PathSummary between(const TopologyGraph& graph, int gpu, int node);

 private:
  std::map<int, std::vector<int>> rows_;  // by GPU and node: which of those that differ
  std::vector<PathSummary> different_;
  std::map<PathSummary, int> numbers_;  // in that list
};

}  // namespace rondo
