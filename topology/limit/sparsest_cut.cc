// SPDX-License-Identifier: Apache-2.0
#include "sparsest_cut.h"

#include <algorithm>
#include <set>
#include <vector>

#include "symmetry.h"

namespace rondo {
namespace {

class SparsitySearch {
 public:
  explicit SparsitySearch(const CutNetwork& network)
      : network_(network),
        flow_(network),
        leads_to_(static_cast<size_t>(network.nodes)),
        is_gpu_(static_cast<size_t>(network.nodes)),
        lowest_(lowest_simple_cut(network, [this](const NodeSet& inside) { return weight(inside); })) {
    for (const CutEdge& edge : network.edges) leads_to_[static_cast<size_t>(edge.from)].push_back(edge.to);
    for (const int gpu : network.gpus) is_gpu_[static_cast<size_t>(gpu)] = true;
  }

  void try_all() {
    NodeSet inside(static_cast<size_t>(network_.nodes));
    const uint32_t full = (uint32_t{1} << network_.gpus.size()) - 1;
    for (uint32_t subset = 1; subset != full; ++subset) {
      for (size_t i = 0; i != network_.gpus.size(); ++i)
        inside[static_cast<size_t>(network_.gpus[i])] = (subset >> i & 1) != 0;
      try_partition(inside);
    }
  }

  /// Sets of GPUs that are close to one another: those below a switch, those of a NUMA node, those of a host.
  void try_balls() {
    std::set<NodeSet> balls;
    for (const int gpu : different_gpus(NodeSet(is_gpu_.size()))) add_balls(gpu, balls);
    for (const NodeSet& ball : balls) {
      try_partition(ball);
      NodeSet others = ball;
      others.flip();
      try_partition(others);
    }
  }

  /// Moves single GPUs across the lowest cut while that makes it lower, at most as often as there are GPUs.
  void descend() {
    bool lower = true;
    for (size_t round = 0; lower && round != network_.gpus.size(); ++round) {
      lower = false;
      for (const int gpu : different_gpus(lowest_.inside)) {
        NodeSet inside = lowest_.inside;
        inside[static_cast<size_t>(gpu)].flip();
        lower |= try_partition(inside);
      }
    }
  }

  bool try_partition(const NodeSet& inside) {
    const int64_t pairs = weight(inside);
    if (pairs == 0) return false;
    NodeSet outside = inside;
    outside.flip();
    const WideInteger lower = WideInteger{lowest_.ratio.numerator()} * pairs;
    const int64_t denominator = lowest_.ratio.denominator();
    const auto enough = static_cast<int64_t>((lower + denominator - 1) / denominator);
    const int64_t capacity = flow_.capacity(inside, outside, enough);
    if (capacity >= enough) return false;
    lowest_ = {*Rational::of(capacity, pairs), flow_.source_side()};
    return true;
  }

  RatioCut take() { return std::move(lowest_); }

 private:
  /// One of the GPUs of each class that can be exchanged without changing the network or the set.
  std::vector<int> different_gpus(const NodeSet& set) const {
    const std::vector<int> first = exchangeable(network_, std::vector<int>(set.begin(), set.end()));
    std::set<int> classes;
    std::vector<int> different;
    for (const int gpu : network_.gpus)
      if (classes.insert(first[static_cast<size_t>(gpu)]).second) different.push_back(gpu);
    return different;
  }

  int64_t weight(const NodeSet& inside) const {
    const auto within =
        std::ranges::count_if(network_.gpus, [&](int gpu) { return inside[static_cast<size_t>(gpu)]; });
    return within * (static_cast<int64_t>(network_.gpus.size()) - within);
  }

  /// The GPUs that a GPU reaches by one link, by two, by three, ...
  void add_balls(int gpu, std::set<NodeSet>& balls) const {
    std::vector<int> reached = {gpu};
    NodeSet ball(static_cast<size_t>(network_.nodes)), seen = ball;
    seen[static_cast<size_t>(gpu)] = ball[static_cast<size_t>(gpu)] = true;
    for (size_t next = 0; next != reached.size();) {
      for (const size_t end = reached.size(); next != end; ++next) {
        for (const int node : leads_to_[static_cast<size_t>(reached[next])]) {
          if (seen[static_cast<size_t>(node)]) continue;
          seen[static_cast<size_t>(node)] = true;
          ball[static_cast<size_t>(node)] = is_gpu_[static_cast<size_t>(node)];
          reached.push_back(node);
        }
      }
      if (weight(ball) != 0) balls.insert(ball);
    }
  }

  const CutNetwork& network_;
  GpuFlow flow_;
  std::vector<std::vector<int>> leads_to_;  // by node
  NodeSet is_gpu_;
  RatioCut lowest_;
};

}  // namespace

RatioCut low_sparsity_cut(const CutNetwork& network, std::span<const RatioCut> known) {
  SparsitySearch search(network);
  if (network.gpus.size() <= kMaxGpusOfAllCuts) {
    search.try_all();
    return search.take();
  }
  for (const RatioCut& cut : known) search.try_partition(cut.inside);
  search.try_balls();
  search.descend();
  return search.take();
}

}  // namespace rondo
