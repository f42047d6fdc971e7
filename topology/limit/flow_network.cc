// SPDX-License-Identifier: Apache-2.0
#include "limit/flow_network.h"

#include <algorithm>

namespace rondo {

int FlowNetwork::add_edge(int from, int to, int64_t capacity) {
  const auto edge = static_cast<int>(arcs_.size() / 2);
  arcs_.push_back({to, first_[static_cast<size_t>(from)], capacity, 0});
  first_[static_cast<size_t>(from)] = edge * 2;
  arcs_.push_back({from, first_[static_cast<size_t>(to)], 0, 0});
  first_[static_cast<size_t>(to)] = edge * 2 + 1;
  return edge;
}

int64_t FlowNetwork::max_flow(int source, int sink, int64_t enough) {
  for (Arc& arc : arcs_) arc.left = arc.capacity;
  int64_t total = 0;
  while (total < enough && find_levels(source, sink)) {
    current_ = first_;
    while (total < enough) {
      const int64_t pushed = push(source, sink, enough - total);
      if (pushed == 0) break;
      total += pushed;
    }
  }
  return total;
}

bool FlowNetwork::find_levels(int source, int sink) {
  level_.assign(first_.size(), -1);
  level_[static_cast<size_t>(source)] = 0;
  queue_.assign(1, source);
  for (size_t next = 0; next != queue_.size(); ++next) {
    const int node = queue_[next];
    for (int i = first_[static_cast<size_t>(node)]; i >= 0; i = arcs_[static_cast<size_t>(i)].next) {
      const Arc& arc = arcs_[static_cast<size_t>(i)];
      if (arc.left == 0 || level_[static_cast<size_t>(arc.to)] >= 0) continue;
      level_[static_cast<size_t>(arc.to)] = level_[static_cast<size_t>(node)] + 1;
      if (arc.to == sink) return true;  // what is farther away is of no use
      queue_.push_back(arc.to);
    }
  }
  return false;
}

int64_t FlowNetwork::push(int node, int sink, int64_t most) {
  if (node == sink) return most;
  for (int& i = current_[static_cast<size_t>(node)]; i >= 0; i = arcs_[static_cast<size_t>(i)].next) {
    Arc& arc = arcs_[static_cast<size_t>(i)];
    if (arc.left == 0 || level_[static_cast<size_t>(arc.to)] != level_[static_cast<size_t>(node)] + 1)
      continue;
    const int64_t pushed = push(arc.to, sink, std::min(most, arc.left));
    if (pushed == 0) continue;
    arc.left -= pushed;
    arcs_[static_cast<size_t>(i) ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

}  // namespace rondo
