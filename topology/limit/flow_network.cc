// SPDX-License-Identifier: Apache-2.0
#include "limit/flow_network.h"

#include <algorithm>
#include <numeric>

namespace rondo {

int FlowNetwork::add_edge(int from, int to, int64_t capacity) {
  edges_.push_back({from, to, capacity});
  laid_out_ = false;
  return static_cast<int>(edges_.size()) - 1;
}

/// Arcs that leave a node lie side by side: those of large networks are not all in the nearest cache.
void FlowNetwork::lay_out() {
  first_.assign(static_cast<size_t>(nodes_) + 1, 0);
  for (const FlowEdge& edge : edges_) {
    ++first_[static_cast<size_t>(edge.from)];
    ++first_[static_cast<size_t>(edge.to)];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  arcs_.resize(edges_.size() * 2);
  for (FlowEdge& edge : edges_) {
    edge.there = --first_[static_cast<size_t>(edge.from)];
    edge.back = --first_[static_cast<size_t>(edge.to)];
    arcs_[static_cast<size_t>(edge.there)] = {edge.to, edge.back, 0};
    arcs_[static_cast<size_t>(edge.back)] = {edge.from, edge.there, 0};
  }
  laid_out_ = true;
}

int64_t FlowNetwork::max_flow(int source, int sink, int64_t enough) {
  if (!laid_out_) lay_out();
  for (const FlowEdge& edge : edges_) {
    arcs_[static_cast<size_t>(edge.there)].left = edge.capacity;
    arcs_[static_cast<size_t>(edge.back)].left = 0;
  }
  int64_t total = 0;
  while (total < enough && find_levels(source, sink)) {
    current_.assign(first_.begin(), first_.end() - 1);
    while (total < enough) {
      const int64_t pushed = push(source, sink, enough - total);
      if (pushed == 0) break;
      total += pushed;
    }
  }
  return total;
}

bool FlowNetwork::find_levels(int source, int sink) {
  level_.assign(static_cast<size_t>(nodes_), -1);
  level_[static_cast<size_t>(source)] = 0;
  queue_.assign(1, source);
  for (size_t next = 0; next != queue_.size(); ++next) {
    const auto node = static_cast<size_t>(queue_[next]);
    for (int i = first_[node]; i != first_[node + 1]; ++i) {
      const Arc& arc = arcs_[static_cast<size_t>(i)];
      if (arc.left == 0 || level_[static_cast<size_t>(arc.to)] >= 0) continue;
      level_[static_cast<size_t>(arc.to)] = level_[node] + 1;
      if (arc.to == sink) return true;  // what is farther away is of no use
      queue_.push_back(arc.to);
    }
  }
  return false;
}

int64_t FlowNetwork::push(int node, int sink, int64_t most) {
  if (node == sink) return most;
  const int end = first_[static_cast<size_t>(node) + 1];
  for (int& i = current_[static_cast<size_t>(node)]; i != end; ++i) {
    Arc& arc = arcs_[static_cast<size_t>(i)];
    if (arc.left == 0 || level_[static_cast<size_t>(arc.to)] != level_[static_cast<size_t>(node)] + 1)
      continue;
    const int64_t pushed = push(arc.to, sink, std::min(most, arc.left));
    if (pushed == 0) continue;
    arc.left -= pushed;
    arcs_[static_cast<size_t>(arc.opposite)].left += pushed;
    return pushed;
  }
  return 0;
}

}  // namespace rondo
