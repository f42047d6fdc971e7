// SPDX-License-Identifier: Apache-2.0
#include "collective_limits.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <tuple>

#include "sparsest_cut.h"

namespace rondo {
namespace {

Limit limit_of(RatioCut cut) { return {cut.ratio, std::move(cut)}; }

std::vector<std::tuple<int, int, int64_t>> sorted_edges(const CutNetwork& network) {
  std::vector<std::tuple<int, int, int64_t>> edges;
  for (const CutEdge& edge : network.edges) edges.emplace_back(edge.from, edge.to, edge.kBps);
  std::ranges::sort(edges);
  return edges;
}

/// Bandwidth into disjoint parts of the network and out of them, together; the part of a node is -1 if it is
/// in none.
struct Traffic {
  int64_t in = 0;
  int64_t out = 0;
};

Traffic traffic_of(const CutNetwork& network, const std::vector<int>& parts) {
  Traffic traffic;
  for (const CutEdge& edge : network.edges) {
    const int from = parts[static_cast<size_t>(edge.from)];
    const int to = parts[static_cast<size_t>(edge.to)];
    if (from == to) continue;
    traffic.in += to >= 0 ? edge.kBps : 0;
    traffic.out += from >= 0 ? edge.kBps : 0;
  }
  return traffic;
}

/// Combining a vector of each of k parts, and giving all parts the result, takes 2 (k - 1) vectors, for
/// one-way gossip takes that many messages (F. Harary and A. Schwenk, "The communication problem on graphs
/// and digraphs", 1974). Lowers x accordingly.
void apply_volume_limit(const CutNetwork& network, const std::vector<int>& parts, Rational& x) {
  const int count = *std::ranges::max_element(parts) + 1;
  if (count < 2) return;
  const Traffic traffic = traffic_of(network, parts);
  x = std::min(x, Rational::rounded_up(std::min(traffic.in, traffic.out),
                                       WideInteger{count - 1} * std::ssize(network.gpus)));
}

}  // namespace

CollectiveLimits::CollectiveLimits(const CutNetwork& network, int root)
    : there_(network),
      back_(reversed(network)),
      is_symmetric_(sorted_edges(there_) == sorted_edges(back_)),
      root_{network.gpus[static_cast<size_t>(root)]} {
  for (const int gpu : network.gpus)
    if (gpu != root_[0]) others_.push_back(gpu);
}

Limit CollectiveLimits::of(CollectiveKind collective) const {
  const std::vector<int>& gpus = there_.gpus;
  switch (collective) {
    case CollectiveKind::AllGather: return over(gpus, gpus);
    case CollectiveKind::ReduceScatter: return back_over(gpus, gpus);
    case CollectiveKind::AllReduce: return all_reduce();
    case CollectiveKind::Broadcast: return over(root_, others_);
    case CollectiveKind::Reduce: return back_over(root_, others_);
    case CollectiveKind::Gather: return over(others_, root_);
    case CollectiveKind::Scatter: return back_over(others_, root_);
    case CollectiveKind::AllToAll: return all_to_all();
    case CollectiveKind::Scan:
    case CollectiveKind::Exscan: return scan();
    case CollectiveKind::Barrier:
    case CollectiveKind::PointToPoint: break;
  }
  std::abort();  // check_call() refuses them
}

Limit CollectiveLimits::over(std::span<const int> sources, std::span<const int> sinks) const {
  return limit_of(lowest_ratio_cut(there_, sources, sinks));
}

Limit CollectiveLimits::back_over(std::span<const int> sources, std::span<const int> sinks) const {
  return limit_of(reversed(lowest_ratio_cut(back_, sources, sinks)));
}

Limit CollectiveLimits::all_reduce() const {
  Limit gather = over(there_.gpus, there_.gpus);
  if (is_symmetric_) return gather;
  Limit scatter = back_over(there_.gpus, there_.gpus);
  const Rational a = scatter.x, b = gather.x;
  if (a == b || b == 0) return gather;
  if (a == 0) return scatter;
  Limit& slower = a < b ? scatter : gather;
  slower.x = Rational::rounded_up(
      2 * WideInteger{a.numerator()} * b.numerator(),
      WideInteger{a.numerator()} * b.denominator() + WideInteger{b.numerator()} * a.denominator());
  return std::move(slower);
}

Limit CollectiveLimits::all_reduce_in_network() const {
  // A vector leaves every S that has GPUs on both sides. The root is on one of them.
  Limit limit = over(root_, others_);
  Limit back = back_over(root_, others_);
  if (back.x < limit.x) limit = std::move(back);
  limit.x = Rational::rounded_up(WideInteger{limit.x.numerator()} * 2,
                                 WideInteger{limit.x.denominator()} * std::ssize(there_.gpus));
  return limit;
}

Rational CollectiveLimits::all_reduce_ceiling(const Limit& limit) const {
  std::vector<int> single(static_cast<size_t>(there_.nodes), -1), halves = single;
  for (size_t i = 0; i != there_.gpus.size(); ++i)
    single[static_cast<size_t>(there_.gpus[i])] = static_cast<int>(i);
  for (size_t node = 0; node != halves.size(); ++node) halves[node] = limit.cut.inside[node] ? 0 : 1;
  Rational ceiling = std::numeric_limits<int64_t>::max();
  for (const auto& parts : {single, halves, there_.hosts, there_.hosts_without_nics})
    apply_volume_limit(there_, parts, ceiling);
  if (ceiling > limit.x) ceiling = std::min(ceiling, all_reduce_in_network().x);
  return std::max(ceiling, limit.x);  // which may have been rounded up
}

Limit CollectiveLimits::all_to_all() const {
  if (there_.gpus.size() <= kMaxGpusOfAllCuts) return limit_of(low_sparsity_cut(there_, {}));
  const RatioCut gather = over(there_.gpus, there_.gpus).cut;
  const RatioCut known[] = {gather,
                            is_symmetric_ ? reversed(gather) : back_over(there_.gpus, there_.gpus).cut};
  return limit_of(low_sparsity_cut(there_, known));
}

Limit CollectiveLimits::scan() const {
  // What a rank sends any later one can pass through all between, so pairs of neighbours limit it.
  std::optional<Limit> lowest;
  for (size_t i = 0; i + 1 != there_.gpus.size(); ++i) {
    Limit limit = over(std::span(&there_.gpus[i], 1), std::span(&there_.gpus[i + 1], 1));
    if (!lowest || limit.x < lowest->x) lowest = std::move(limit);
  }
  return std::move(*lowest);
}

}  // namespace rondo
