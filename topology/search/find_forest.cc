// SPDX-License-Identifier: Apache-2.0
#include "search/find_forest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "balance.h"
#include "base/error_kinds.h"
#include "compact_graph.h"
#include "direct_ways.h"
#include "forest_size.h"
#include "limit/bound.h"
#include "limit/usable_links.h"
#include "pack_trees.h"
#include "routes.h"
#include "search/forest_load.h"
#include "shortest_ways.h"
#include "split_off.h"

namespace rondo {
namespace {

class ForestSearch {
 public:
  ForestSearch(const TopologyGraph& graph, std::span<const int> gpus, const ForestOptions& options)
      : graph_(graph), gpus_(gpus), max_k_(options.max_k), limit_(options.max_flows, options.max_time) {}

  /// `bound`: bus bandwidth that no forest exceeds.
  Result<Forest> run(const Rational& bound) {
    usable_ = usable_links(graph_, gpus_);
    RONDO_TRY_ASSIGN(std::vector<Tree> shortest, shortest_ways(graph_, gpus_, usable_));
    RONDO_TRY_ASSIGN(best_, evaluated(1, std::move(shortest)));
    if (best_.bus_kBps == bound && best_.depth() == 1) return std::move(best_);
    const CompactGraph compact = compact_graph(graph_, gpus_, usable_, true);
    if (!is_searchable(compact)) {
      best_.stopped = true;
      return std::move(best_);
    }
    const bool many = std::ssize(gpus_) > kMaxExactGpus;
    if (many) keep_direct_ways();
    keep_better(search(compact, bound));
    if (compact.pooled) keep_better(search(compact_graph(graph_, gpus_, usable_, false), bound));
    const bool over = stopped_ || limit_.over();
    if (best_.bus_kBps != bound && !many) keep_direct_ways();  // which need not be divided into whole parts
    best_.stopped = over;
    return std::move(best_);
  }

 private:
  /// For more GPUs a forest at 99.9% of the bound ends the search, which would need seconds for the rest.
  static constexpr int64_t kMaxExactGpus = 32;

  /// Keeps a search below 64 MiB. It stores a number for each tree and each way between two GPUs. There is a
  /// way through each NVSwitch, and through each of several equal switches or NICs.
  bool is_searchable(const CompactGraph& pooled) const {
    constexpr int64_t kMaxGpus = 128, kMaxWays = 150'000;
    std::map<int, int64_t> switches;  // by host
    int64_t most = 1;
    for (const TopologyNode& node : graph_.nodes())
      if (node.kind == NodeKind::NvSwitch) most = std::max(most, ++switches[node.host]);
    for (const CompactEdge& edge : pooled.edges) most = std::max(most, std::ssize(edge.links));
    const int64_t gpus = std::ssize(gpus_);
    return gpus <= kMaxGpus && gpus * gpus * most <= kMaxWays;
  }

  void keep_direct_ways() {
    std::vector<Tree> trees = direct_ways(graph_, gpus_, usable_);
    if (trees.empty()) return;
    auto forest = evaluated(1, std::move(trees));
    if (forest.ok()) keep_better(forest.take());
  }

  void keep_better(std::optional<Forest> found) {
    if (!found) return;
    if (found->bus_kBps > best_.bus_kBps ||
        (found->bus_kBps == best_.bus_kBps && found->depth() < best_.depth()))
      best_ = std::move(*found);
    searched_ = true;
  }

  std::optional<Forest> search(const CompactGraph& compact, const Rational& bound) {
    const auto size = choose_size(compact, bound);
    if (!size) return std::nullopt;
    GatherNetwork network(compact, limit_);
    network.set_scale(size->scale, size->k);
    if (!balance(network)) return std::nullopt;
    LogicalGraph logical = split_off_switches(std::move(network));
    if (limit_.over()) return std::nullopt;
    const auto packed = pack_trees(logical, size->k, limit_);
    if (!packed) return std::nullopt;
    auto trees = with_routes(*packed, std::move(logical), graph_, usable_, compact, size->scale);
    if (!trees) return std::nullopt;
    auto forest = evaluated(size->k, std::move(*trees));
    return forest.ok() ? std::optional(forest.take()) : std::nullopt;
  }

  /// Leaves half of the limit to the trees.
  std::optional<ForestSize> choose_size(const CompactGraph& compact, const Rational& bound) {
    WorkLimit half = limit_.half();
    const Rational known = searched_ ? per_root(best_.bus_kBps) : Rational();
    const auto size = best_size(compact, per_root(bound), known, max_k_, half);
    limit_.count(half);
    stopped_ |= half.over();
    return size;
  }

  Rational per_root(const Rational& bus) const {
    const auto others = static_cast<int64_t>(gpus_.size()) - 1;
    return Rational::of(bus.numerator(), WideInteger{bus.denominator()} * others).value();
  }

  Result<Forest> evaluated(int64_t k, std::vector<Tree> trees) const {
    Forest forest{{gpus_.begin(), gpus_.end()}, k, std::move(trees), {}, {}, false};
    RONDO_TRY_ASSIGN(const ForestLoad load, forest_load(graph_, forest));
    forest.scale = load.scale;
    forest.bus_kBps = load.bus_kBps;
    return forest;
  }

  const TopologyGraph& graph_;
  const std::span<const int> gpus_;
  const int64_t max_k_;
  WorkLimit limit_;
  UsableLinks usable_;
  Forest best_;
  bool searched_ = false;  // best_ is more than the shortest ways
  bool stopped_ = false;
};

/// So that trees of all GPUs stay below 64 MiB.
Status check_count(std::span<const int> gpus) {
  constexpr size_t kMaxGpus = 256;
  if (gpus.size() <= kMaxGpus) return {};
  return error(ErrorKind::TooLargeToPlan, "plans are made for up to {} GPUs; there are {}", kMaxGpus,
               gpus.size());
}

/// The search multiplies bandwidths by up to 13 bits.
Status check_speeds(const TopologyGraph& graph) {
  constexpr WideInteger kMax = WideInteger{1} << 50;
  WideInteger total = 0;
  for (const TopologyLink& link : graph.links()) total += link.kBps;
  if (total <= kMax) return {};
  return error(Code::InvalidArgument, "the links have more than {} kB/s together",
               static_cast<int64_t>(kMax));
}

}  // namespace

Result<Forest> find_forest(const TopologyGraph& graph, std::span<const int> gpus,
                           const ForestOptions& options) {
  RONDO_TRY(check_speeds(graph));
  RONDO_TRY(check_count(gpus));
  RONDO_TRY_ASSIGN(const BandwidthBound bound, bandwidth_bound(graph, gpus, CollectiveKind::AllGather));
  if (bound.ceiling == 0)
    return error(ErrorKind::GpusNotJoined, "not all GPUs reach one another: {}", bound.limit);
  return ForestSearch(graph, gpus, options).run(bound.ceiling);
}

}  // namespace rondo
