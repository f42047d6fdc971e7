// SPDX-License-Identifier: Apache-2.0
#include "balance.h"

#include <algorithm>
#include <span>
#include <vector>

namespace rondo {
namespace {

/// Lowers a capacity to `most`; whether it was more.
bool limit_capacity(GatherNetwork& network, int from, int to, int64_t most) {
  const int64_t excess = network.capacity(from, to) - most;
  if (excess > 0) network.add_capacity(from, to, -excess);
  return excess > 0;
}

/// Nothing turns around in a switch: what enters from one neighbour leaves to the others.
void drop_turns(GatherNetwork& network) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int node = network.gpus(); node != network.nodes(); ++node) {
      for (const int other : network.before(node))
        changed |=
            limit_capacity(network, other, node, network.leaving(node) - network.capacity(node, other));
      for (const int other : network.after(node))
        changed |=
            limit_capacity(network, node, other, network.entering(node) - network.capacity(other, node));
    }
  }
}

/// What a switch can send beyond what it receives.
int64_t excess(const GatherNetwork& network, int node) {
  return network.leaving(node) - network.entering(node);
}

bool is_balanced(const GatherNetwork& network) {
  for (int node = network.gpus(); node != network.nodes(); ++node)
    if (excess(network, node) != 0) return false;
  return true;
}

/// From a switch with excess through switches to a GPU or a switch that receives too much.
using Path = std::vector<int>;

class Balancer {
 public:
  /// Unless `careful`, capacity is lowered evenly without asking what that costs.
  Balancer(GatherNetwork& network, bool careful) : network_(network), careful_(careful) {}

  bool run() {
    for (int node = network_.gpus(); node != network_.nodes(); ++node)
      while (excess(network_, node) > 0)
        if (!lower_leaving(node)) return false;
    while (!is_balanced(network_))
      for (int node = network_.gpus(); node != network_.nodes(); ++node)
        if (!lower_entering(node)) return false;
    return true;
  }

 private:
  /// False: nothing could be lowered.
  bool lower_leaving(int node) {
    const int64_t before = excess(network_, node);
    const std::vector<Path> paths = shortest_paths(node);
    const GatherNetwork unlowered = network_;
    lower_evenly(first_by_neighbour(paths));
    if (careful_ && network_.shortfall(1) != 0) {
      network_ = unlowered;
      for (const Path& path : paths) lower_freely(path);
    }
    return excess(network_, node) < before;
  }

  /// One to each GPU and switch that they may end at, the shortest first.
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
        const bool ends = other < network_.gpus() || excess(network_, other) < 0;
        (ends ? found : queue).push_back(std::move(path));
      }
    }
    return found;
  }

  static std::vector<Path> first_by_neighbour(std::span<const Path> paths) {
    std::vector<Path> first;
    for (const Path& path : paths)
      if (std::ranges::none_of(first, [&](const Path& other) { return other[1] == path[1]; }))
        first.push_back(path);
    return first;
  }

  /// The most that a path can be lowered by.
  int64_t room(const Path& path) const {
    int64_t least = excess(network_, path.front());
    if (path.back() >= network_.gpus()) least = std::min(least, -excess(network_, path.back()));
    for (size_t i = 1; i != path.size(); ++i)
      least = std::min(least, network_.capacity(path[i - 1], path[i]));
    return std::max<int64_t>(least, 0);
  }

  void lower(const Path& path, int64_t amount) {
    for (size_t i = 1; i != path.size(); ++i) network_.add_capacity(path[i - 1], path[i], -amount);
  }

  /// Shares the excess of the switch at which they begin among paths. Sums of shares are rounded, so that
  /// they add up.
  void lower_evenly(std::span<const Path> paths) {
    std::vector<int64_t> rooms;
    int64_t all = 0, seen = 0;
    for (const Path& path : paths) all += rooms.emplace_back(room(path));
    if (all == 0) return;
    const int64_t wanted = std::min(all, excess(network_, paths[0].front()));
    for (size_t i = 0; i != paths.size(); ++i) {
      const int64_t before = wanted * seen / all;
      seen += rooms[i];
      lower(paths[i], std::min(wanted * seen / all - before, room(paths[i])));
    }
  }

  void lower_freely(const Path& path) {
    const int64_t amount = room(path);
    if (amount == 0) return;
    lower(path, amount);
    lower(path, -network_.shortfall(amount));
  }

  /// Takes what a switch receives too much from where it costs nothing. False: the limit was reached.
  bool lower_entering(int node) {
    for (const int other : network_.before(node)) {
      const int64_t amount = std::min(-excess(network_, node), network_.capacity(other, node));
      if (amount <= 0) break;
      network_.add_capacity(other, node, -amount);
      network_.add_capacity(other, node, network_.shortfall(amount));
    }
    return excess(network_, node) >= 0;
  }

  GatherNetwork& network_;
  const bool careful_;
};

}  // namespace

bool balance(GatherNetwork& network) {
  drop_turns(network);
  if (network.shortfall(1) != 0) return false;
  if (is_balanced(network)) return true;
  const GatherNetwork unbalanced = network;
  if (Balancer(network, false).run() && network.shortfall(1) == 0) return true;
  network = unbalanced;
  return Balancer(network, true).run();
}

}  // namespace rondo
