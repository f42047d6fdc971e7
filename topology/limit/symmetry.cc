// SPDX-License-Identifier: Apache-2.0
#include "symmetry.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace rondo {
namespace {

/// A host's nodes, and its links with these nodes numbered from 0 and all others from -1 down. Hosts that
/// look the same can be exchanged, unless links lead from one host to another.
struct HostLook {
  std::vector<int> colours;                   // by node of the host
  std::vector<std::array<int64_t, 3>> links;  // from, to, kB/s
  friend auto operator<=>(const HostLook&, const HostLook&) = default;
};

/// A GPU's colour and the links that leave and enter it, as other end and kB/s.
struct GpuLook {
  int colour = 0;
  std::vector<std::pair<int, int64_t>> out, in;
  friend auto operator<=>(const GpuLook&, const GpuLook&) = default;
};

class Symmetry {
 public:
  Symmetry(const CutNetwork& network, std::span<const int> colours)
      : network_(network), colours_(colours), first_(static_cast<size_t>(network.nodes)) {
    for (int node = 0; node != network.nodes; ++node) first_[static_cast<size_t>(node)] = node;
  }

  std::vector<int> run() {
    match_hosts();
    const std::vector<int> twins = first_twins();
    for (int& first : first_) first = twins[static_cast<size_t>(first)];
    return std::move(first_);
  }

 private:
  int host(int node) const { return network_.hosts[static_cast<size_t>(node)]; }

  void match_hosts() {
    const int hosts = *std::ranges::max_element(network_.hosts) + 1;
    if (hosts < 2) return;
    std::vector<std::vector<int>> nodes(static_cast<size_t>(hosts));
    std::vector<int> place(first_.size());
    for (int node = 0; node != network_.nodes; ++node)
      if (host(node) >= 0) {
        place[static_cast<size_t>(node)] = static_cast<int>(nodes[static_cast<size_t>(host(node))].size());
        nodes[static_cast<size_t>(host(node))].push_back(node);
      }
    std::map<HostLook, int> known;
    std::vector<HostLook> looks = host_looks(nodes, place);
    for (int at = 0; at != hosts; ++at) {
      const auto& own = nodes[static_cast<size_t>(at)];
      const auto& first = nodes[static_cast<size_t>(
          known.emplace(std::move(looks[static_cast<size_t>(at)]), at).first->second)];
      for (size_t i = 0; i != own.size(); ++i) first_[static_cast<size_t>(own[i])] = first[i];
    }
  }

  std::vector<HostLook> host_looks(const std::vector<std::vector<int>>& nodes,
                                   const std::vector<int>& place) const {
    std::vector<HostLook> looks(nodes.size());
    for (size_t at = 0; at != nodes.size(); ++at)
      for (const int node : nodes[at]) looks[at].colours.push_back(colours_[static_cast<size_t>(node)]);
    for (const CutEdge& edge : network_.edges) {
      const int from = host(edge.from), to = host(edge.to);
      for (const int at : {from, to}) {
        if (at < 0) continue;
        const auto end = [&](int node) -> int64_t {
          return host(node) == at ? place[static_cast<size_t>(node)] : -1 - node;
        };
        looks[static_cast<size_t>(at)].links.push_back({end(edge.from), end(edge.to), edge.kBps});
        // No other host has this one's number.
        if (from >= 0 && to >= 0 && from != to) looks[static_cast<size_t>(at)].colours.push_back(-1 - at);
      }
    }
    for (HostLook& look : looks) std::ranges::sort(look.links);
    return looks;
  }

  /// By node: the first GPU with the same links, or the node itself.
  std::vector<int> first_twins() const {
    std::vector<GpuLook> looks(first_.size());
    for (const CutEdge& edge : network_.edges) {
      looks[static_cast<size_t>(edge.from)].out.emplace_back(edge.to, edge.kBps);
      looks[static_cast<size_t>(edge.to)].in.emplace_back(edge.from, edge.kBps);
    }
    std::vector<int> gpus = network_.gpus;
    std::ranges::sort(gpus);
    std::vector<int> twins(first_.size());
    for (size_t node = 0; node != twins.size(); ++node) twins[node] = static_cast<int>(node);
    std::map<GpuLook, int> known;
    for (const int gpu : gpus) {
      GpuLook& look = looks[static_cast<size_t>(gpu)];
      look.colour = colours_[static_cast<size_t>(gpu)];
      std::ranges::sort(look.out);
      std::ranges::sort(look.in);
      twins[static_cast<size_t>(gpu)] = known.emplace(std::move(look), gpu).first->second;
    }
    return twins;
  }

  const CutNetwork& network_;
  const std::span<const int> colours_;
  std::vector<int> first_;
};

}  // namespace

std::vector<int> exchangeable(const CutNetwork& network, std::span<const int> colours) {
  return Symmetry(network, colours).run();
}

}  // namespace rondo
