// SPDX-License-Identifier: Apache-2.0
#include "gather_network.h"

#include <algorithm>

namespace rondo {

GatherNetwork::GatherNetwork(const CompactGraph& graph, WorkLimit& limit)
    : graph_(&graph), limit_(&limit), flows_(graph.nodes + 1) {
  for (int gpu = 0; gpu != graph.gpus; ++gpu) sources_.push_back(flows_.add_edge(graph.nodes, gpu, 0));
  for (const CompactEdge& edge : graph.edges)
    edges_.emplace(std::pair(edge.from, edge.to), flows_.add_edge(edge.from, edge.to, 0));
}

void GatherNetwork::set_scale(const Rational& scale, int64_t k) {
  k_ = k;
  for (const int source : sources_) flows_.set_capacity(source, k);
  for (const auto& [ends, edge] : edges_) flows_.set_capacity(edge, 0);
  // No forest puts more on an edge: n k trees, with n - 1 edges each.
  const int64_t most = k * gpus() * gpus();
  for (const CompactEdge& edge : graph_->edges) {
    const WideInteger whole = WideInteger{scale.numerator()} * edge.kBps / scale.denominator();
    flows_.set_capacity(edges_.at({edge.from, edge.to}),
                        static_cast<int64_t>(std::min<WideInteger>(whole, most)));
  }
}

int64_t GatherNetwork::capacity(int from, int to) const {
  const auto edge = edges_.find({from, to});
  return edge == edges_.end() ? 0 : flows_.capacity(edge->second);
}

void GatherNetwork::add_capacity(int from, int to, int64_t amount) {
  const auto edge = edges_.find({from, to});
  if (edge == edges_.end())
    edges_.emplace(std::pair(from, to), flows_.add_edge(from, to, amount));
  else
    flows_.set_capacity(edge->second, flows_.capacity(edge->second) + amount);
}

void GatherNetwork::forget_edges_without_capacity() {
  FlowNetwork fewer(nodes() + 1);
  for (int& source : sources_)
    source = fewer.add_edge(graph_->nodes, source - sources_[0], flows_.capacity(source));
  std::erase_if(edges_, [this](const auto& edge) { return flows_.capacity(edge.second) == 0; });
  for (auto& [ends, edge] : edges_) edge = fewer.add_edge(ends.first, ends.second, flows_.capacity(edge));
  flows_ = std::move(fewer);
}

std::vector<int> GatherNetwork::before(int node) const {
  std::vector<int> found;
  for (const auto& [ends, edge] : edges_)
    if (ends.second == node && flows_.capacity(edge) > 0) found.push_back(ends.first);
  return found;
}

std::vector<int> GatherNetwork::after(int node) const {
  std::vector<int> found;
  for (auto at = edges_.lower_bound({node, 0}); at != edges_.end() && at->first.first == node; ++at)
    if (flows_.capacity(at->second) > 0) found.push_back(at->first.second);
  return found;
}

int64_t GatherNetwork::entering(int node) const {
  int64_t sum = 0;
  for (const int other : before(node)) sum += capacity(other, node);
  return sum;
}

int64_t GatherNetwork::leaving(int node) const {
  int64_t sum = 0;
  for (const int other : after(node)) sum += capacity(node, other);
  return sum;
}

int64_t GatherNetwork::shortfall_of(int gpu) {
  const int64_t wanted = k_ * gpus();
  if (!limit_->allows_flow()) return wanted;
  const int64_t lack = wanted - flows_.max_flow(graph_->nodes, gpu, wanted);
  if (lack > 0) last_ = gpu;
  return lack;
}

int64_t GatherNetwork::shortfall(int64_t most) {
  int64_t worst = 0;
  for (int i = 0, first = last_; i != gpus() && worst < most; ++i)
    worst = std::max(worst, shortfall_of((first + i) % gpus()));
  return std::min(worst, most);
}

}  // namespace rondo
