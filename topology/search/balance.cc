// SPDX-License-Identifier: Apache-2.0
#include "balance.h"

#include <algorithm>
#include <vector>

namespace rondo {
namespace {

/// From a switch to a GPU or another switch, whose capacity for what enters is lowered.
using Path = std::vector<int>;

class Balancer {
 public:
  /// If `careful`, nothing is lowered that costs a GPU something; else it is lowered evenly whatever it
  /// costs.
  Balancer(GatherNetwork& network, bool careful) : network_(network), careful_(careful) {}

  bool run() {
    for (int node = network_.gpus(); node != network_.nodes(); ++node)
      while (excess(node) > 0)
        if (!lower_leaving(node)) return false;
    for (bool changed = true; changed;) {
      changed = false;
      for (int node = network_.gpus(); node != network_.nodes(); ++node) {
        if (excess(node) == 0) continue;
        lower_entering(node);
        if (excess(node) != 0) return false;
        changed = true;
      }
    }
    return true;
  }

 private:
  /// What a switch can send beyond what it receives.
  int64_t excess(int node) const { return network_.leaving(node) - network_.entering(node); }

  bool absorbs(int node) const { return node < network_.gpus() || excess(node) < 0; }

  /// Lowers paths that begin at the switch: the other switches stay as they are. False: none could be
  /// lowered.
  bool lower_leaving(int node) {
    const int64_t before = excess(node);
    const std::vector<Path> paths = shortest_paths(node);
    const GatherNetwork unlowered = network_;
    lower_evenly(first_by_neighbour(paths));
    if (careful_ && network_.shortfall(1) != 0) {
      network_ = unlowered;
      for (const Path& path : paths) lower_freely(path, excess(node));
    }
    return excess(node) < before;
  }

  static std::vector<Path> first_by_neighbour(const std::vector<Path>& paths) {
    std::vector<Path> first;
    for (const Path& path : paths)
      if (std::ranges::none_of(first, [&](const Path& other) { return other[1] == path[1]; }))
        first.push_back(path);
    return first;
  }

  /// One to each GPU or switch that absorbs capacity, the nearest first.
  std::vector<Path> shortest_paths(int node) const {
    std::vector<Path> found, queue{{node}};
    std::vector<bool> seen(static_cast<size_t>(network_.nodes()));
    seen[static_cast<size_t>(node)] = true;
    for (size_t next = 0; next != queue.size(); ++next) {
      for (const int other : network_.after(queue[next].back())) {
        if (seen[static_cast<size_t>(other)]) continue;
        seen[static_cast<size_t>(other)] = true;
        Path path = queue[next];
        path.push_back(other);
        (absorbs(other) ? found : queue).push_back(std::move(path));
      }
    }
    return found;
  }

  int64_t most(const Path& path) const {
    int64_t least = path.back() < network_.gpus() ? FlowNetwork::kUnlimited : -excess(path.back());
    for (size_t i = 1; i != path.size(); ++i)
      least = std::min(least, network_.capacity(path[i - 1], path[i]));
    return least;
  }

  void lower(const Path& path, int64_t amount) {
    for (size_t i = 1; i != path.size(); ++i) network_.add_capacity(path[i - 1], path[i], -amount);
  }

  /// Shares the excess among paths of the same switch; sums of shares are rounded, so that they add up.
  void lower_evenly(const std::vector<Path>& paths) {
    if (paths.empty()) return;
    int64_t all = 0, seen = 0;
    for (const Path& path : paths) all += most(path);
    const int64_t wanted = std::min(all, excess(paths[0][0]));
    for (const Path& path : paths) {
      const int64_t share_before = wanted * seen / all;
      seen += most(path);
      lower(path, std::min(wanted * seen / all - share_before, most(path)));
    }
  }

  void lower_freely(const Path& path, int64_t wanted) {
    const int64_t amount = std::min(wanted, most(path));
    if (amount <= 0) return;
    lower(path, amount);
    lower(path, -network_.shortfall(amount));
  }

  /// What enters a switch beyond what it can send is of no use: it can be lowered at no cost.
  void lower_entering(int node) {
    for (const int other : network_.before(node)) {
      const int64_t amount = std::min(-excess(node), network_.capacity(other, node));
      network_.add_capacity(other, node, -amount);
      network_.add_capacity(other, node, network_.shortfall(amount));
    }
  }

  GatherNetwork& network_;
  const bool careful_;
};

/// Nothing turns around in a switch: what enters from one neighbour leaves to the others.
void drop_dead_ends(GatherNetwork& network) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int node = network.gpus(); node != network.nodes(); ++node) {
      for (const int other : network.before(node)) {
        const int64_t others = network.leaving(node) - network.capacity(node, other);
        const int64_t excess = network.capacity(other, node) - others;
        if (excess > 0) network.add_capacity(other, node, -excess), changed = true;
      }
      for (const int other : network.after(node)) {
        const int64_t others = network.entering(node) - network.capacity(other, node);
        const int64_t excess = network.capacity(node, other) - others;
        if (excess > 0) network.add_capacity(node, other, -excess), changed = true;
      }
    }
  }
}

bool is_balanced(const GatherNetwork& network) {
  for (int node = network.gpus(); node != network.nodes(); ++node)
    if (network.leaving(node) != network.entering(node)) return false;
  return true;
}

}  // namespace

bool balance(GatherNetwork& network) {
  drop_dead_ends(network);
  if (network.shortfall(1) != 0) return false;
  if (is_balanced(network)) return true;
  const GatherNetwork unbalanced = network;
  if (Balancer(network, false).run() && network.shortfall(1) == 0) return true;
  network = unbalanced;
  return Balancer(network, true).run();
}

}  // namespace rondo
