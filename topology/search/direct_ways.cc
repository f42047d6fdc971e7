// SPDX-License-Identifier: Apache-2.0
#include "direct_ways.h"

#include <algorithm>
#include <utility>

#include "limit/rational.h"

namespace rondo {
namespace {

constexpr int64_t kWhole = 1 << 20;  // the shares of a pair of GPUs, together
constexpr int kRounds = 8;  // 3 reach 99.9% of the bound with one to three links of each GPU to 18 switches

/// From or to a GPU: its links by switch.
struct GpuLinks {
  std::vector<int> link;       // -1: none
  std::vector<int64_t> kBps;   // 0: none
  std::vector<int64_t> loads;  // the shares that cross them
};

class DirectWays {
 public:
  DirectWays(const TopologyGraph& graph, std::span<const int> gpus, const UsableLinks& usable)
      : gpus_(gpus.size()) {
    std::vector<size_t> rank(graph.nodes().size(), gpus_), place(graph.nodes().size());
    for (size_t i = 0; i != gpus_; ++i) rank[static_cast<size_t>(gpus[i])] = i;
    for (size_t node = 0; node != graph.nodes().size(); ++node)
      if (graph.nodes()[node].kind == NodeKind::NvSwitch) place[node] = switches_++;
    const GpuLinks none{std::vector<int>(switches_, -1), std::vector<int64_t>(switches_), {}};
    up_.assign(gpus_, none);
    down_.assign(gpus_, none);
    for (size_t link = 0; link != usable.kBps.size(); ++link) {
      const auto from = static_cast<size_t>(graph.links()[link].from);
      const auto to = static_cast<size_t>(graph.links()[link].to);
      if (usable.kBps[link] == 0) continue;
      if (rank[from] != gpus_ && graph.nodes()[to].kind == NodeKind::NvSwitch)
        add(up_[rank[from]], place[to], static_cast<int>(link), usable.kBps[link]);
      if (rank[to] != gpus_ && graph.nodes()[from].kind == NodeKind::NvSwitch)
        add(down_[rank[to]], place[from], static_cast<int>(link), usable.kBps[link]);
    }
  }

  std::vector<Tree> run() {
    if (has_parallel_links_ || !start()) return {};
    std::vector<int64_t> best = shares_;
    Rational least = busiest();
    for (int round = 0; round != kRounds; ++round) {
      level();
      if (const Rational load = busiest(); load < least) {
        least = load;
        best = shares_;
      }
    }
    shares_ = std::move(best);
    return trees();
  }

 private:
  void add(GpuLinks& links, size_t place, int link, int64_t kBps) {
    has_parallel_links_ |= links.link[place] >= 0;
    links.link[place] = link;
    links.kBps[place] = kBps;
    widest_ = std::max(widest_, kBps);
  }

  std::span<int64_t> shares(size_t from, size_t to) {
    return std::span(shares_).subspan((from * gpus_ + to) * switches_, switches_);
  }

  template <typename Visit>
  void for_each_pair(Visit visit) {
    for (size_t from = 0; from != gpus_; ++from)
      for (size_t to = 0; to != gpus_; ++to)
        if (from != to) visit(from, to);
  }

  /// By the narrower of the two links of each way; false: a pair has no way.
  bool start() {
    shares_.resize(gpus_ * gpus_ * switches_);
    std::vector<WideInteger> widths(switches_);
    bool joined = true;
    for_each_pair([&](size_t from, size_t to) {
      for (size_t i = 0; i != switches_; ++i) widths[i] = std::min(up_[from].kBps[i], down_[to].kBps[i]);
      joined &= divide(widths, shares(from, to));
    });
    return joined;
  }

  /// Less by busy links.
  void level() {
    std::vector<WideInteger> wanted(switches_);
    for_each_pair([&](size_t from, size_t to) {
      const std::span<int64_t> now = shares(from, to);
      for (size_t i = 0; i != switches_; ++i)
        wanted[i] = now[i] == 0 ? 0 : now[i] * kWhole / std::max(busy(up_[from], i), busy(down_[to], i));
      divide(wanted, now);
    });
  }

  /// In units in which links that all are equally busy have about kWhole.
  WideInteger busy(const GpuLinks& links, size_t i) const {
    return WideInteger{links.loads[i]} * widest_ / links.kBps[i] / static_cast<int64_t>(gpus_) + 1;
  }

  /// Shares of kWhole in proportion to `parts`, the largest of which takes what rounding leaves; false: there
  /// are none.
  static bool divide(const std::vector<WideInteger>& parts, std::span<int64_t> shares) {
    WideInteger all = 0;
    for (const WideInteger part : parts) all += part;
    if (all == 0) return false;
    int64_t left = kWhole;
    for (size_t i = 0; i != parts.size(); ++i)
      left -= shares[i] = static_cast<int64_t>(parts[i] * kWhole / all);
    shares[static_cast<size_t>(std::ranges::max_element(parts) - parts.begin())] += left;
    return true;
  }

  /// Counts all loads; the largest load / kBps.
  Rational busiest() {
    for (std::vector<GpuLinks>* side : {&up_, &down_})
      for (GpuLinks& links : *side) links.loads.assign(switches_, 0);
    for_each_pair([&](size_t from, size_t to) {
      const std::span<const int64_t> of_pair = shares(from, to);
      for (size_t i = 0; i != switches_; ++i) {
        up_[from].loads[i] += of_pair[i];
        down_[to].loads[i] += of_pair[i];
      }
    });
    Rational most;
    for (const std::vector<GpuLinks>* side : {&up_, &down_})
      for (const GpuLinks& links : *side)
        for (size_t i = 0; i != switches_; ++i)
          if (links.loads[i] != 0) most = std::max(most, Rational::of(links.loads[i], links.kBps[i]).value());
    return most;
  }

  std::vector<Tree> trees() {
    std::vector<Tree> trees(gpus_);
    for (size_t root = 0; root != gpus_; ++root) trees[root].root = static_cast<int>(root);
    for_each_pair([&](size_t from, size_t to) {
      Hop first, second;
      for (size_t i = 0; i != switches_; ++i)
        if (const int64_t share = shares(from, to)[i]; share > 0) {
          first.push_back({up_[from].link[i], share});
          second.push_back({down_[to].link[i], share});
        }
      trees[from].edges.push_back(
          {static_cast<int>(from), static_cast<int>(to), 1, {{1, {std::move(first), std::move(second)}}}});
    });
    return trees;
  }

  const size_t gpus_;
  size_t switches_ = 0;
  std::vector<GpuLinks> up_, down_;  // by rank
  std::vector<int64_t> shares_;      // by sender, receiver and switch
  int64_t widest_ = 1;               // kB/s of a link
  bool has_parallel_links_ = false;
};

}  // namespace

std::vector<Tree> direct_ways(const TopologyGraph& graph, std::span<const int> gpus,
                              const UsableLinks& usable) {
  return DirectWays(graph, gpus, usable).run();
}

}  // namespace rondo
