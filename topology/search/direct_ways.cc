// SPDX-License-Identifier: Apache-2.0
#include "direct_ways.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "limit/rational.h"

namespace rondo {
namespace {

constexpr int64_t kWhole = 1 << 20;  // the shares of a pair of GPUs, together
// Of levelling shares: 3 reach 99.9% of the bound with one to three links of each GPU to 18 switches. Where
// GPUs pass blocks on: 16 reach 99% of it, up to 60% of the links missing each way.
constexpr int kRounds = 8;
constexpr int kRelievingRounds = 16;

/// From or to a GPU: its links by switch.
struct GpuLinks {
  std::vector<int> link;       // -1: none
  std::vector<int64_t> kBps;   // 0: none
  std::vector<int64_t> loads;  // the shares that cross them
};

/// How the block of a root reaches a GPU.
struct TreeStep {
  size_t parent = 0;
  int depth = 0;  // 0: not yet, or the root itself
};

struct SharedWays {
  std::vector<int64_t> shares;      // by sender, receiver and switch; 0 of all: nothing joins the two
  std::vector<int64_t> trees_over;  // by sender and receiver
  std::vector<TreeStep> steps;      // by root and receiver
};

struct LeveledWays {
  SharedWays ways;
  Rational load;  // the largest load / kBps of a link

  /// By 0.1%: else shallower trees are worth more.
  bool is_clearly_faster_than(const LeveledWays& other) const {
    return WideInteger{load.numerator()} * 1001 * other.load.denominator() <
           WideInteger{other.load.numerator()} * 1000 * load.denominator();
  }
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
    if (has_parallel_links_) return {};
    start();
    busiest();
    if (!relay()) return {};
    SharedWays first = ways_;
    LeveledWays direct = level_rounds(kRounds, false);
    ways_ = std::move(first);
    LeveledWays relieved = level_rounds(kRelievingRounds, true);
    ways_ = relieved.is_clearly_faster_than(direct) ? std::move(relieved.ways) : std::move(direct.ways);
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
    return std::span(ways_.shares).subspan((from * gpus_ + to) * switches_, switches_);
  }

  template <typename Visit>
  void for_each_pair(Visit visit) {
    for (size_t from = 0; from != gpus_; ++from)
      for (size_t to = 0; to != gpus_; ++to)
        if (from != to) visit(from, to);
  }

  TreeStep& step(size_t root, size_t to) { return ways_.steps[root * gpus_ + to]; }

  bool is_joined(size_t from, size_t to) { return std::ranges::any_of(shares(from, to), std::identity()); }

  /// By the narrower of the two links of each way.
  void start() {
    ways_.shares.resize(gpus_ * gpus_ * switches_);
    ways_.trees_over.resize(gpus_ * gpus_);
    ways_.steps.resize(gpus_ * gpus_);
    std::vector<WideInteger> widths(switches_);
    for_each_pair([&](size_t from, size_t to) {
      for (size_t i = 0; i != switches_; ++i) widths[i] = std::min(up_[from].kBps[i], down_[to].kBps[i]);
      if (divide(widths, shares(from, to))) add_step(from, from, to, 1);
    });
  }

  void add_step(size_t root, size_t parent, size_t to, int depth) {
    step(root, to) = {parent, depth};
    ++ways_.trees_over[parent * gpus_ + to];
  }

  /// Gives GPUs without an NVSwitch in common with a root the least busy way from one that has the root's
  /// block; false: there is none.
  bool relay() {
    bool changed = true, complete = false;
    for (int depth = 2; changed && !complete; ++depth) {
      changed = false;
      complete = true;
      for_each_pair([&](size_t root, size_t to) {
        if (step(root, to).depth > 0) return;
        const size_t parent = least_busy_parent(root, to, depth);
        complete &= parent != gpus_;
        if (parent == gpus_) return;
        add_step(root, parent, to, depth);
        count(parent, to, 1);
        changed = true;
      });
    }
    return complete;
  }

  /// Of those that are less deep; gpus_: there is none.
  size_t least_busy_parent(size_t root, size_t to, int depth) {
    size_t best = gpus_;
    WideInteger least = 0;
    for (size_t from = 0; from != gpus_; ++from) {
      const int above = step(root, from).depth;
      if (from == to || above == 0 || above >= depth || !is_joined(from, to)) continue;
      const WideInteger most = most_busy(from, to);
      if (best != gpus_ && most >= least) continue;
      best = from;
      least = most;
    }
    return best;
  }

  /// Of the links that the shares of a pair cross.
  WideInteger most_busy(size_t from, size_t to) {
    WideInteger most = 0;
    for (size_t i = 0; i != switches_; ++i)
      if (shares(from, to)[i] != 0) most = std::max({most, busy(up_[from], i), busy(down_[to], i)});
    return most;
  }

  /// Where the only ways of two GPUs are among the busiest, another GPU passes the block on if it has ways
  /// that are clearly less busy.
  void relieve() {
    WideInteger most = 0, least = WideInteger{1} << 100;  // of links away from GPUs
    for_each_pair([&](size_t from, size_t to) { most = std::max(most, most_busy(from, to)); });
    for (const GpuLinks& links : up_)
      for (size_t i = 0; i != switches_; ++i)
        if (links.kBps[i] != 0) least = std::min(least, busy(links, i));
    if (!is_clearly_less(least, most)) return;
    for_each_pair([&](size_t root, size_t to) {
      const TreeStep now = step(root, to);
      const WideInteger own = most_busy(now.parent, to);
      if (is_clearly_less(own, most) || passes_on(root, to)) return;
      const size_t parent = least_busy_parent(root, to, std::max(now.depth, 2));
      if (parent == gpus_ || !is_clearly_less(most_busy(parent, to), own)) return;
      --ways_.trees_over[now.parent * gpus_ + to];
      count(now.parent, to, -1);
      add_step(root, parent, to, step(root, parent).depth + 1);
      count(parent, to, 1);
    });
  }

  static bool is_clearly_less(const WideInteger& a, const WideInteger& b) { return a * 20 < b * 19; }

  bool passes_on(size_t root, size_t gpu) {
    for (size_t to = 0; to != gpus_; ++to)
      if (step(root, to).depth > 1 && step(root, to).parent == gpu) return true;
    return false;
  }

  /// Levels again and again, and keeps the best.
  LeveledWays level_rounds(int rounds, bool relieving) {
    LeveledWays best{ways_, busiest()};
    for (int round = 0; round != rounds; ++round) {
      if (relieving) relieve();
      level();
      if (const Rational load = busiest(); load < best.load) best = {ways_, load};
    }
    return best;
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
    for_each_pair([&](size_t from, size_t to) { count(from, to, ways_.trees_over[from * gpus_ + to]); });
    Rational most;
    for (const std::vector<GpuLinks>* side : {&up_, &down_})
      for (const GpuLinks& links : *side)
        for (size_t i = 0; i != switches_; ++i)
          if (links.loads[i] != 0) most = std::max(most, Rational::of(links.loads[i], links.kBps[i]).value());
    return most;
  }

  /// The loads of `trees` trees that use a way.
  void count(size_t from, size_t to, int64_t trees) {
    const std::span<const int64_t> of_pair = shares(from, to);
    for (size_t i = 0; i != switches_; ++i) {
      up_[from].loads[i] += trees * of_pair[i];
      down_[to].loads[i] += trees * of_pair[i];
    }
  }

  std::vector<Tree> trees() {
    std::vector<Tree> trees(gpus_);
    for (size_t root = 0; root != gpus_; ++root) trees[root].root = static_cast<int>(root);
    for_each_pair([&](size_t root, size_t to) {
      const auto [parent, depth] = step(root, to);
      trees[root].edges.push_back(
          {static_cast<int>(parent), static_cast<int>(to), depth, {route(parent, to)}});
    });
    for (Tree& tree : trees) std::ranges::stable_sort(tree.edges, {}, &TreeEdge::depth);
    return trees;
  }

  GpuRoute route(size_t from, size_t to) {
    Hop first, second;
    for (size_t i = 0; i != switches_; ++i)
      if (const int64_t share = shares(from, to)[i]; share > 0) {
        first.push_back({up_[from].link[i], share});
        second.push_back({down_[to].link[i], share});
      }
    return {1, {std::move(first), std::move(second)}};
  }

  const size_t gpus_;
  size_t switches_ = 0;
  std::vector<GpuLinks> up_, down_;  // by rank
  SharedWays ways_;
  int64_t widest_ = 1;  // kB/s of a link
  bool has_parallel_links_ = false;
};

}  // namespace

std::vector<Tree> direct_ways(const TopologyGraph& graph, std::span<const int> gpus,
                              const UsableLinks& usable) {
  return DirectWays(graph, gpus, usable).run();
}

}  // namespace rondo
