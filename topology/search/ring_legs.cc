// SPDX-License-Identifier: Apache-2.0
#include "search/ring_legs.h"

#include <optional>
#include <utility>

#include "ring_routes.h"

namespace rondo {

RingLegs::RingLegs(const TopologyGraph& graph, std::span<const int> gpus)
    : graph_(graph), gpus_(gpus), routes_(std::make_unique<const RingRoutes>(graph, gpus)) {}

RingLegs::~RingLegs() = default;

Result<std::vector<RingLeg>> RingLegs::of(const RingChannel& channel, OrderUse use) const {
  RONDO_TRY(check_order(channel.order));
  const size_t hops = channel.order.size() - (use == OrderUse::Ring ? 0 : 1);
  std::vector<RingLeg> legs;
  auto nics = channel.nics.begin();
  for (size_t i = 0; i != hops; ++i) {
    const int from = gpu(channel.order[i]), to = gpu(channel.order[(i + 1) % channel.order.size()]);
    std::optional<NicPair> between;
    if (graph_.node(from).host != graph_.node(to).host) {
      if (nics == channel.nics.end())
        return error(Code::InvalidArgument, "there is no pair of NICs for {} -> {}", graph_.node(from).name,
                     graph_.node(to).name);
      between = *nics++;
    }
    RONDO_TRY(add_hop(from, between ? &*between : nullptr, to, legs));
    if (use != OrderUse::ChainBothWays) continue;
    if (between) std::swap(between->leaves, between->enters);
    RONDO_TRY(add_hop(to, between ? &*between : nullptr, from, legs));
  }
  if (nics != channel.nics.end())
    return error(Code::InvalidArgument, "{} pairs of NICs are too many for the hops between hosts",
                 channel.nics.size());
  return legs;
}

Status RingLegs::check_order(const std::vector<int>& order) const {
  std::vector<bool> seen(gpus_.size());
  for (const int rank : order) {
    if (rank < 0 || static_cast<size_t>(rank) >= seen.size())
      return error(Code::InvalidArgument, "rank {} is none of the {}", rank, seen.size());
    if (seen[static_cast<size_t>(rank)])
      return error(Code::InvalidArgument, "{} is in it twice", graph_.node(gpu(rank)).name);
    seen[static_cast<size_t>(rank)] = true;
  }
  if (order.size() != seen.size())
    return error(Code::InvalidArgument, "it has {} GPUs: expected all {}", order.size(), seen.size());
  return {};
}

Status RingLegs::check_nic(int nic, int gpu) const {
  if (nic < 0 || static_cast<size_t>(nic) >= graph_.nodes().size() ||
      graph_.node(nic).kind != NodeKind::Nic || graph_.node(nic).host != graph_.node(gpu).host)
    return error(Code::InvalidArgument, "node {} is not a NIC of the host of {}", nic, graph_.node(gpu).name);
  return {};
}

Status RingLegs::add_hop(int from, const NicPair* nics, int to, std::vector<RingLeg>& legs) const {
  const auto add = [&](std::optional<std::vector<Hop>> hops, int start, int end) -> Status {
    if (!hops)
      return error(Code::InvalidArgument, "there is no path from {} to {}", graph_.node(start).name,
                   graph_.node(end).name);
    legs.push_back({start, end, std::move(*hops)});
    return {};
  };
  if (nics == nullptr) return add(routes_->from_gpu(from, to), from, to);
  const auto [leaves, enters] = *nics;
  RONDO_TRY(check_nic(leaves, from));
  RONDO_TRY(check_nic(enters, to));
  const auto out = routes_->network_of(leaves), in = routes_->network_of(enters);
  if (!out || !in || out->network != in->network)
    return error(Code::InvalidArgument, "no network joins {} and {}", graph_.node(leaves).name,
                 graph_.node(enters).name);
  RONDO_TRY(add(routes_->from_gpu(from, leaves), from, leaves));
  RONDO_TRY(add({{out->to, in->from}}, leaves, enters));
  return add(routes_->from_nic(enters, to), enters, to);
}

}  // namespace rondo
