// SPDX-License-Identifier: Apache-2.0
#include "search/ring_load.h"

#include <limits>
#include <string>
#include <utility>

#include "link_weights.h"
#include "ring_routes.h"

namespace rondo {
namespace {

template <typename... Args>
Status no_ring(fmt::format_string<Args...> format, Args&&... args) {
  return error(Code::InvalidArgument, format, std::forward<Args>(args)...);
}

class RingLoadCount {
 public:
  RingLoadCount(const TopologyGraph& graph, std::span<const int> gpus)
      : graph_(graph), gpus_(gpus), routes_(graph, gpus), load_(graph) {}

  Status add(const RingChannel& channel, OrderUse use) {
    if (channel.kBps < 1) return no_ring("it carries {} kB/s", channel.kBps);
    RONDO_TRY(check_order(channel.order));
    const size_t hops = channel.order.size() - (use == OrderUse::Ring ? 0 : 1);
    auto nics = channel.nics.begin();
    for (size_t i = 0; i != hops; ++i) {
      const int from = gpu(channel.order[i]), to = gpu(channel.order[(i + 1) % channel.order.size()]);
      std::optional<NicPair> between;
      if (graph_.node(from).host != graph_.node(to).host) {
        if (nics == channel.nics.end())
          return no_ring("there is no pair of NICs for {} -> {}", graph_.node(from).name,
                         graph_.node(to).name);
        between = *nics++;
      }
      RONDO_TRY(add_hop(channel.kBps, from, between, to));
      if (use != OrderUse::ChainBothWays) continue;
      if (between) std::swap(between->leaves, between->enters);
      RONDO_TRY(add_hop(channel.kBps, to, between, from));
    }
    if (nics != channel.nics.end())
      return no_ring("{} pairs of NICs are too many for the hops between hosts", channel.nics.size());
    return {};
  }

  Result<RingLoad> finish(int64_t kBps, OrderUse use) const {
    RONDO_TRY_ASSIGN(BusiestLinks busiest, load_.busiest());
    RingLoad load{load_.weights(), busiest.scale, {}, std::move(busiest.links)};
    if (load.busiest.empty()) return load;
    // nccl-tests counts 2 (n - 1) / n of the vector for all-reduce; a chain moves all of it, there and back.
    const auto ranks = static_cast<int64_t>(gpus_.size());
    const bool both = use == OrderUse::ChainBothWays;
    const auto factor = Rational::of(both ? 2 * (ranks - 1) : 1, both ? ranks : 1).value();
    const auto carried = Rational::of(WideInteger{kBps} * factor.numerator(), factor.denominator());
    const auto bus = !carried ? carried
                              : Rational::of(WideInteger{carried->numerator()} * load.scale.denominator(),
                                             WideInteger{carried->denominator()} * load.scale.numerator());
    if (!bus) return no_ring("their bandwidth is no fraction of 64 bits");
    load.bus_kBps = *bus;
    return load;
  }

 private:
  int gpu(int rank) const { return gpus_[static_cast<size_t>(rank)]; }

  Status check_order(const std::vector<int>& order) const {
    std::vector<bool> seen(gpus_.size());
    for (const int rank : order) {
      if (rank < 0 || static_cast<size_t>(rank) >= seen.size())
        return no_ring("rank {} is none of the {}", rank, seen.size());
      if (seen[static_cast<size_t>(rank)]) return no_ring("{} is in it twice", graph_.node(gpu(rank)).name);
      seen[static_cast<size_t>(rank)] = true;
    }
    if (order.size() != seen.size())
      return no_ring("it has {} GPUs: expected all {}", order.size(), seen.size());
    return {};
  }

  Status add_hop(int64_t kBps, int from, const std::optional<NicPair>& nics, int to) {
    if (!nics) return add_route(kBps, routes_.from_gpu(from, to), from, to);
    RONDO_TRY(check_nic(nics->leaves, from));
    RONDO_TRY(check_nic(nics->enters, to));
    const auto out = routes_.network_of(nics->leaves), in = routes_.network_of(nics->enters);
    if (!out || !in || out->network != in->network)
      return no_ring("no network joins {} and {}", graph_.node(nics->leaves).name,
                     graph_.node(nics->enters).name);
    RONDO_TRY(add_route(kBps, routes_.from_gpu(from, nics->leaves), from, nics->leaves));
    RONDO_TRY(add_route(kBps, {{out->to, in->from}}, nics->leaves, nics->enters));
    return add_route(kBps, routes_.from_nic(nics->enters, to), nics->enters, to);
  }

  Status check_nic(int nic, int gpu) const {
    if (nic < 0 || static_cast<size_t>(nic) >= graph_.nodes().size() ||
        graph_.node(nic).kind != NodeKind::Nic || graph_.node(nic).host != graph_.node(gpu).host)
      return no_ring("node {} is not a NIC of the host of {}", nic, graph_.node(gpu).name);
    return {};
  }

  Status add_route(int64_t kBps, std::optional<std::vector<Hop>> hops, int from, int to) {
    if (!hops) return no_ring("there is no path from {} to {}", graph_.node(from).name, graph_.node(to).name);
    return load_.add({kBps, std::move(*hops)}, from, to, ThroughGpus::Yes);
  }

  const TopologyGraph& graph_;
  const std::span<const int> gpus_;
  const RingRoutes routes_;
  LinkWeights load_;
};

}  // namespace

Result<RingLoad> ring_load(const TopologyGraph& graph, std::span<const int> gpus,
                           std::span<const RingChannel> channels, OrderUse use) {
  std::vector<bool> seen(graph.nodes().size());
  for (const int gpu : gpus) {
    if (gpu < 0 || static_cast<size_t>(gpu) >= seen.size() || graph.node(gpu).kind != NodeKind::Gpu ||
        seen[static_cast<size_t>(gpu)])
      return no_ring("node {} is not a GPU, or is named twice", gpu);
    seen[static_cast<size_t>(gpu)] = true;
  }
  if (gpus.size() < 2) return no_ring("a ring needs two GPUs or more, not {}", gpus.size());
  RingLoadCount count(graph, gpus);
  WideInteger total = 0;
  for (size_t i = 0; i != channels.size(); ++i) {
    const Status added = count.add(channels[i], use);
    if (!added.ok()) return Status(added.code(), fmt::format("channel {}: {}", i, added.message()));
    total += channels[i].kBps;
  }
  if (total > std::numeric_limits<int64_t>::max()) return no_ring("the channels are too fast for 64 bits");
  return count.finish(static_cast<int64_t>(total), use);
}

}  // namespace rondo
