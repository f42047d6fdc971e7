// SPDX-License-Identifier: Apache-2.0
#include "search/find_rings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error_kinds.h"
#include "host_rings.h"
#include "limit/bound.h"
#include "ring_hops.h"
#include "ring_routes.h"

namespace rondo {
namespace {

/// The way of a channel through one host.
struct HostStretch {
  std::vector<int> order;  // ranks
  int enters = -1;         // NICs; -1: the ring stays on the host
  int leaves = -1;
  int64_t kBps = 0;
};

/// The stretches of a host that follow one another in time, all of one network.
using Stretches = std::vector<HostStretch>;

class RingSearch {
 public:
  RingSearch(const TopologyGraph& graph, std::span<const int> gpus, const RingOptions& options)
      : graph_(graph), gpus_(gpus), routes_(graph, gpus), limit_(options.max_steps, options.max_time) {}

  RingPlan run(const Rational& bound, ThroughGpus through_gpus) {
    RingPlan plan{{gpus_.begin(), gpus_.end()}, {}, 0, bound, true};
    std::vector<std::map<int, Stretches>> hosts;  // by network
    const std::vector<std::vector<int>> ranks = ranks_by_host();
    for (const std::vector<int>& of_host : ranks)
      hosts.push_back(search_host(of_host, ranks.size() > 1, through_gpus, plan));
    plan.is_optimal &= hosts.size() == 1 || are_alike(hosts);
    for (const auto& [network, stretches] : hosts[0]) {
      std::vector<Stretches> joined;
      for (auto& host : hosts) joined.push_back(host[network]);
      join_hosts(std::move(joined), plan.channels);
    }
    for (const RingChannel& channel : plan.channels) plan.bus_kBps += channel.kBps;
    return plan;
  }

 private:
  /// The host of rank 0 first.
  std::vector<std::vector<int>> ranks_by_host() const {
    std::vector<std::vector<int>> ranks;
    std::map<int, size_t> places;
    for (size_t rank = 0; rank != gpus_.size(); ++rank) {
      const auto [place, is_new] = places.emplace(graph_.node(gpus_[rank]).host, ranks.size());
      if (is_new) ranks.emplace_back();
      ranks[place->second].push_back(static_cast<int>(rank));
    }
    return ranks;
  }

  /// Whether each host's rings carry the same in each network.
  static bool are_alike(const std::vector<std::map<int, Stretches>>& hosts) {
    const auto totals = [](const std::map<int, Stretches>& host) {
      std::map<int, int64_t> kBps;
      for (const auto& [network, stretches] : host)
        for (const HostStretch& stretch : stretches) kBps[network] += stretch.kBps;
      return kBps;
    };
    return std::ranges::all_of(hosts, [&](const auto& host) { return totals(host) == totals(hosts[0]); });
  }

  std::map<int, Stretches> search_host(const std::vector<int>& ranks, bool leads_on, ThroughGpus through_gpus,
                                       RingPlan& plan) {
    std::vector<int> gpus;
    for (const int rank : ranks) gpus.push_back(gpus_[static_cast<size_t>(rank)]);
    const RingHops hops(graph_, gpus, routes_, leads_on, through_gpus);
    const HostRings found =
        find_host_rings(hops, plan.bound_kBps.numerator() / plan.bound_kBps.denominator(), limit_);
    plan.is_optimal &= found.is_optimal;
    std::map<int, Stretches> stretches;
    for (const HostRing& ring : found.rings) {
      HostStretch stretch{{}, -1, -1, ring.kBps};
      const int first = leads_on ? 1 : 0;  // GPU
      for (const int node : ring.order)
        if (node >= first) stretch.order.push_back(ranks[static_cast<size_t>(node - first)]);
      if (leads_on) {
        stretch.enters = hops.between(0, ring.order[1])[static_cast<size_t>(ring.ways[0])].nic;
        stretch.leaves = hops.between(ring.order.back(), 0)[static_cast<size_t>(ring.ways.back())].nic;
      }
      stretches[ring.network].push_back(std::move(stretch));
    }
    return stretches;
  }

  /// Channels from stretches of all hosts, laid side by side: a new channel begins where one of them ends.
  static void join_hosts(std::vector<Stretches> hosts, std::vector<RingChannel>& channels) {
    std::vector<size_t> at(hosts.size());
    while (true) {
      RingChannel channel;
      for (size_t host = 0; host != hosts.size(); ++host) {
        if (at[host] == hosts[host].size()) return;
        const int64_t kBps = hosts[host][at[host]].kBps;
        channel.kBps = host == 0 ? kBps : std::min(channel.kBps, kBps);
      }
      for (size_t host = 0; host != hosts.size(); ++host) {
        HostStretch& stretch = hosts[host][at[host]];
        channel.order.insert(channel.order.end(), stretch.order.begin(), stretch.order.end());
        const size_t next = (host + 1) % hosts.size();
        if (stretch.leaves >= 0) channel.nics.push_back({stretch.leaves, hosts[next][at[next]].enters});
      }
      for (size_t host = 0; host != hosts.size(); ++host) {
        hosts[host][at[host]].kBps -= channel.kBps;
        if (hosts[host][at[host]].kBps == 0) ++at[host];
      }
      channels.push_back(std::move(channel));
    }
  }

  const TopologyGraph& graph_;
  const std::span<const int> gpus_;
  const RingRoutes routes_;
  WorkLimit limit_;
};

/// A ring leaves and enters every set of GPUs, so no rings carry more than the narrowest cut: the lower of
/// what leads from rank 0 to all others and from all others to it.
Result<BandwidthBound> ring_bound(const TopologyGraph& graph, std::span<const int> gpus) {
  RONDO_TRY_ASSIGN(BandwidthBound from, bandwidth_bound(graph, gpus, CollectiveKind::Broadcast));
  RONDO_TRY_ASSIGN(BandwidthBound to, bandwidth_bound(graph, gpus, CollectiveKind::Reduce));
  return from.ceiling < to.ceiling ? from : to;
}

}  // namespace

namespace {

/// So that the ways between all pairs of GPUs, one by each NVSwitch, and between GPUs and NICs stay below 64
/// MiB, however many devices they lead through.
Status check_size(const TopologyGraph& graph, std::span<const int> gpus) {
  constexpr int64_t kMaxGpus = 96, kMaxWays = 150'000;  // of a host; NVL72 has 72 and 93,312
  constexpr int64_t kMaxPaths = 90'000;                 // from GPUs to devices of their hosts
  constexpr int64_t kMaxPathsToNics = 32'000;           // by which rings lead to other hosts
  std::map<int, int64_t> of_host, switches, nics, devices;
  int64_t paths = 0;
  for (const int gpu : gpus) ++of_host[graph.node(gpu).host];
  for (const TopologyNode& node : graph.nodes()) {
    ++devices[node.host];
    if (node.kind == NodeKind::NvSwitch) ++switches[node.host];
    if (node.kind == NodeKind::Nic) ++nics[node.host];
  }
  for (const auto& [host, count] : of_host) {
    if (count > kMaxGpus || count * count * switches[host] > kMaxWays)
      return error(
          ErrorKind::TooLargeToPlan,
          "rings are searched for up to {} GPUs of a host and {} paths by NVSwitches; it has {} GPUs and {} "
          "NVSwitches",
          kMaxGpus, kMaxWays, count, switches[host]);
    if (of_host.size() > 1 && count * nics[host] > kMaxPathsToNics)
      return error(ErrorKind::TooLargeToPlan,
                   "rings between hosts are searched for among up to {} paths from GPUs to NICs; {} GPUs and "
                   "{} NICs have {}",
                   kMaxPathsToNics, count, nics[host], count * nics[host]);
    paths += count * devices[host];
  }
  if (paths <= kMaxPaths) return {};
  return error(ErrorKind::TooLargeToPlan,
               "rings are searched for among up to {} paths from GPUs; {} GPUs have {}", kMaxPaths,
               gpus.size(), paths);
}

}  // namespace

Result<RingPlan> find_rings(const TopologyGraph& graph, std::span<const int> gpus,
                            const RingOptions& options) {
  RONDO_TRY_ASSIGN(const BandwidthBound bound, ring_bound(graph, gpus));
  RONDO_TRY(check_size(graph, gpus));
  if (bound.ceiling == 0)
    return error(ErrorKind::GpusNotJoined, "not all GPUs reach one another: {}", bound.limit);
  RingSearch search(graph, gpus, options);
  RingPlan plan = search.run(bound.ceiling, ThroughGpus::No);
  if (plan.channels.empty()) plan = search.run(bound.ceiling, ThroughGpus::Yes);
  if (plan.channels.empty())
    return error(ErrorKind::GpusNotJoined, "no ring of best paths through all {} GPUs was found",
                 gpus.size());
  return plan;
}

}  // namespace rondo
