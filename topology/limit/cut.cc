// SPDX-License-Identifier: Apache-2.0
#include "cut.h"

#include <algorithm>
#include <optional>
#include <set>

#include "symmetry.h"

namespace rondo {
namespace {

constexpr CutShape turned_around(CutShape shape) {
  switch (shape) {
    case CutShape::OutOfGpu: return CutShape::IntoGpu;
    case CutShape::IntoGpu: return CutShape::OutOfGpu;
    case CutShape::OutOfHost: return CutShape::IntoHost;
    case CutShape::IntoHost: return CutShape::OutOfHost;
    case CutShape::Other: break;
  }
  return CutShape::Other;
}

int64_t capacity_leaving(const CutNetwork& network, const NodeSet& inside) {
  int64_t total = 0;
  for (const CutEdge& edge : network.edges)
    if (inside[static_cast<size_t>(edge.from)] && !inside[static_cast<size_t>(edge.to)]) total += edge.kBps;
  return total;
}

class SimpleCuts {
 public:
  SimpleCuts(const CutNetwork& network, const CutWeight& weight)
      : network_(network),
        weight_(weight),
        into_(static_cast<size_t>(network.nodes)),
        out_of_(static_cast<size_t>(network.nodes)) {
    for (const CutEdge& edge : network.edges) {
      if (edge.from == edge.to) continue;
      into_[static_cast<size_t>(edge.to)] += edge.kBps;
      out_of_[static_cast<size_t>(edge.from)] += edge.kBps;
    }
  }

  RatioCut lowest() {
    NodeSet gpu(static_cast<size_t>(network_.nodes));
    for (const int node : network_.gpus) {
      const auto index = static_cast<size_t>(node);
      gpu[index] = true;
      consider(flipped(gpu), into_[index], CutShape::IntoGpu);
      consider(gpu, out_of_[index], CutShape::OutOfGpu);
      gpu[index] = false;
    }
    const int hosts = *std::ranges::max_element(network_.hosts) + 1;
    for (int host = 0; host < hosts; ++host) {
      const NodeSet with_nics = nodes_of(network_.hosts, host);
      const NodeSet without = nodes_of(network_.hosts_without_nics, host);
      consider_narrower(flipped(with_nics), flipped(without), CutShape::IntoHost);
      consider_narrower(with_nics, without, CutShape::OutOfHost);
    }
    return std::move(*lowest_);
  }

 private:
  static NodeSet flipped(NodeSet set) {
    set.flip();
    return set;
  }

  static NodeSet nodes_of(const std::vector<int>& hosts, int host) {
    NodeSet nodes(hosts.size());
    for (size_t node = 0; node != hosts.size(); ++node) nodes[node] = hosts[node] == host;
    return nodes;
  }

  void consider_narrower(const NodeSet& a, const NodeSet& b, CutShape shape) {
    const int64_t of_a = capacity_leaving(network_, a), of_b = capacity_leaving(network_, b);
    consider(of_b < of_a ? b : a, std::min(of_a, of_b), shape);
  }

  void consider(const NodeSet& inside, int64_t capacity, CutShape shape) {
    const int64_t weight = weight_(inside);
    if (weight == 0) return;
    const Rational ratio = *Rational::of(capacity, weight);
    if (!lowest_ || ratio < lowest_->ratio)
      lowest_ = {ratio, inside, shape, 1};
    else if (ratio == lowest_->ratio && shape == lowest_->shape)
      ++lowest_->alike;
  }

  const CutNetwork& network_;
  const CutWeight& weight_;
  std::vector<int64_t> into_, out_of_;  // by node
  std::optional<RatioCut> lowest_;
};

/// Newton's method (W. Dinkelbach, "On nonlinear fractional programming", 1967): a flow shows that no cut has
/// a lower ratio than x, or ends at a cut that has.
class RatioSearch {
 public:
  RatioSearch(const CutNetwork& network, std::span<const int> sources)
      : network_(network), sources_(sources), source_(network.nodes), flows_(network.nodes + 1) {
    for (const CutEdge& edge : network.edges) flows_.add_edge(edge.from, edge.to, 0);
    for (const int source : sources) flows_.add_edge(source_, source, 0);
  }

  /// Lowers `lowest` until no cut that leaves `sink` outside has a lower ratio.
  void search(int sink, RatioCut& lowest) {
    while (lowest.ratio > 0) {
      if (loaded_ != lowest.ratio) load(lowest.ratio);
      const int64_t wanted = loaded_.numerator() * static_cast<int64_t>(sources_.size());
      if (flows_.max_flow(source_, sink, wanted) >= wanted) return;
      lowest = latest_cut();
    }
  }

 private:
  /// Each source can send x. Everything times x's denominator is whole.
  void load(Rational x) {
    loaded_ = x;
    int index = 0;
    for (const CutEdge& edge : network_.edges) flows_.set_capacity(index++, edge.kBps * x.denominator());
    for (size_t i = 0; i != sources_.size(); ++i) flows_.set_capacity(index++, x.numerator());
  }

  RatioCut latest_cut() const {
    RatioCut cut;
    cut.inside.resize(static_cast<size_t>(network_.nodes));
    for (int node = 0; node != network_.nodes; ++node)
      cut.inside[static_cast<size_t>(node)] = flows_.on_source_side(node);
    const auto weight =
        std::ranges::count_if(sources_, [&](int source) { return cut.inside[static_cast<size_t>(source)]; });
    cut.ratio = *Rational::of(capacity_leaving(network_, cut.inside), weight);
    return cut;
  }

  const CutNetwork& network_;
  const std::span<const int> sources_;
  const int source_;
  FlowNetwork flows_;
  Rational loaded_;
};

}  // namespace

CutNetwork reversed(CutNetwork network) {
  for (CutEdge& edge : network.edges) std::swap(edge.from, edge.to);
  return network;
}

RatioCut reversed(RatioCut cut) {
  cut.inside.flip();
  cut.shape = turned_around(cut.shape);
  return cut;
}

RatioCut lowest_simple_cut(const CutNetwork& network, const CutWeight& weight) {
  return SimpleCuts(network, weight).lowest();
}

RatioCut lowest_ratio_cut(const CutNetwork& network, std::span<const int> sources,
                          std::span<const int> sinks) {
  std::vector<int> roles(static_cast<size_t>(network.nodes));
  for (const int source : sources) roles[static_cast<size_t>(source)] |= 1;
  for (const int sink : sinks) roles[static_cast<size_t>(sink)] |= 2;
  const auto weight = [&](const NodeSet& inside) -> int64_t {
    const auto is_inside = [&](int node) { return inside[static_cast<size_t>(node)]; };
    return std::ranges::all_of(sinks, is_inside) ? 0 : std::ranges::count_if(sources, is_inside);
  };
  RatioCut lowest = lowest_simple_cut(network, weight);
  RatioSearch search(network, sources);
  const std::vector<int> first = exchangeable(network, roles);
  std::set<int> searched;
  for (const int sink : sinks)
    if (searched.insert(first[static_cast<size_t>(sink)]).second) search.search(sink, lowest);
  return lowest;
}

GpuFlow::GpuFlow(const CutNetwork& network) : network_(network), flows_(network.nodes + 2) {
  for (const CutEdge& edge : network.edges) flows_.add_edge(edge.from, edge.to, edge.kBps);
  for (const int gpu : network.gpus) {
    first_.push_back(flows_.add_edge(network.nodes, gpu, 0));
    last_.push_back(flows_.add_edge(gpu, network.nodes + 1, 0));
  }
}

int64_t GpuFlow::capacity(const NodeSet& sources, const NodeSet& sinks, int64_t enough) {
  for (size_t i = 0; i != network_.gpus.size(); ++i) {
    const auto gpu = static_cast<size_t>(network_.gpus[i]);
    flows_.set_capacity(first_[i], sources[gpu] ? FlowNetwork::kUnlimited : 0);
    flows_.set_capacity(last_[i], sinks[gpu] ? FlowNetwork::kUnlimited : 0);
  }
  return flows_.max_flow(network_.nodes, network_.nodes + 1, enough);
}

NodeSet GpuFlow::source_side() const {
  NodeSet inside(static_cast<size_t>(network_.nodes));
  for (int node = 0; node != network_.nodes; ++node)
    inside[static_cast<size_t>(node)] = flows_.on_source_side(node);
  return inside;
}

}  // namespace rondo
