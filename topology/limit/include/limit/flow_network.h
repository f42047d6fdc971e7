// SPDX-License-Identifier: Apache-2.0
// FlowNetwork: maximum flows in whole numbers, by Dinic's algorithm (E. A. Dinic, "Algorithm for solution of
// a problem of maximum flow in networks with power estimation", 1970). The same capacities give the same flow
// and cut on every machine. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rondo {

class FlowNetwork {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

  explicit FlowNetwork(int nodes) : nodes_(nodes) {}

  int nodes() const { return nodes_; }

  /// Adds a node and returns its number.
  int add_node() {
    laid_out_ = false;
    return nodes_++;
  }

  /// Adds an edge and returns its number: 0, 1, 2, ...
  int add_edge(int from, int to, int64_t capacity);
  void set_capacity(int edge, int64_t capacity) { edges_[static_cast<size_t>(edge)].capacity = capacity; }
  int64_t capacity(int edge) const { return edges_[static_cast<size_t>(edge)].capacity; }

  /// The maximum flow from `source` to `sink`, or `enough` if it is at least that. Forgets earlier flows.
  int64_t max_flow(int source, int sink, int64_t enough = kUnlimited);

  /// Of the latest flow: what an edge carries.
  int64_t flow(int edge) const {
    return capacity(edge) - arcs_[static_cast<size_t>(edges_[static_cast<size_t>(edge)].there)].left;
  }

  /// Whether a node is on the source's side of a minimum cut, the side that has the fewest nodes. Valid if
  /// the latest flow did not end at `enough`.
  bool on_source_side(int node) const { return level_[static_cast<size_t>(node)] >= 0; }

 private:
  struct FlowEdge {
    int from, to;
    int64_t capacity;
    int there = 0, back = 0;  // its arcs
  };
  struct Arc {
    int to;
    int opposite;  // the arc back
    int64_t left;  // capacity less flow
  };

  void lay_out();
  bool find_levels(int source, int sink);
  int64_t push(int node, int sink, int64_t most);

  int nodes_;
  std::vector<FlowEdge> edges_;
  bool laid_out_ = false;   // what follows has all nodes and edges
  std::vector<Arc> arcs_;   // by the node that they leave, the latest edge first
  std::vector<int> first_;  // arc of a node, and the end of the last one's
  std::vector<int> level_;  // distance from the source by arcs with capacity left; -1: out of reach
  std::vector<int> current_;
  std::vector<int> queue_;
};

}  // namespace rondo
