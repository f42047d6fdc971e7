// SPDX-License-Identifier: Apache-2.0
#include "synthesis/machine_network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "search/message_links.h"

namespace rondo {
namespace {

/// Calls `visit(from, to, port, chunks)` for every message of a tile.
void for_messages(const std::vector<Schedule>& ranks,
                  const std::function<void(int from, int to, int port, int chunks)>& visit) {
  for (const Schedule& schedule : ranks)
    for (const Lane& lane : schedule.lanes)
      for (const Step& step : lane.steps)
        if (step.has(kSend))
          for (const int peer : schedule.peer_sets[step.send_set])
            visit(schedule.rank, peer, lane.port, step.count);
}

/// The link of the same kind that leads back; -1: there is none.
int link_back(const TopologyGraph& graph, int link) {
  const TopologyLink& there = graph.link(link);
  for (const int back : graph.links_from(there.to))
    if (graph.link(back).to == there.from && graph.link(back).cls == there.cls) return back;
  return -1;
}

/// The hops turned around; empty if a link has none back.
std::vector<Hop> turned_around(const TopologyGraph& graph, const std::vector<Hop>& hops) {
  std::vector<Hop> back(hops.rbegin(), hops.rend());
  for (Hop& hop : back)
    for (LinkShare& part : hop)
      if ((part.link = link_back(graph, part.link)) < 0) return {};
  return back;
}

using RouteUses = std::map<std::pair<int, int>, std::vector<SimulatedLinkUse>>;

/// By the ends of each edge, in both directions: what all trees that have it take of links, each by its
/// weight.
RouteUses uses_of_edges(const TopologyGraph& graph, const Forest& forest) {
  std::map<std::pair<int, int>, std::map<int, double>> weights;
  std::map<std::pair<int, int>, double> sums;
  const auto add = [&](int from, int to, const std::vector<Hop>& hops, int64_t weight) {
    if (hops.empty()) return;
    sums[{from, to}] += static_cast<double>(weight);
    for (const auto& [link, share] : uses_of(hops))
      weights[{from, to}][link] += share * static_cast<double>(weight);
  };
  for (const Tree& tree : forest.trees)
    for (const TreeEdge& edge : tree.edges)
      for (const GpuRoute& route : edge.routes) {
        add(edge.parent, edge.child, route.hops, route.weight);
        add(edge.child, edge.parent, turned_around(graph, route.hops), route.weight);
      }
  RouteUses uses;
  for (const auto& [ends, links] : weights)
    for (const auto& [link, weight] : links) uses[ends].push_back({link, weight / sums.at(ends)});
  return uses;
}

}  // namespace

std::vector<SimulatedLinkUse> uses_of(std::span<const Hop> hops) {
  std::vector<SimulatedLinkUse> uses;
  for (const Hop& hop : hops) {
    const auto all = static_cast<double>(sum_of_shares(hop));
    for (const LinkShare& part : hop) uses.push_back({part.link, static_cast<double>(part.share) / all});
  }
  return uses;
}

struct MachineNetwork::Table {
  std::vector<double> bytes_per_s;  // by link
  RouteUses routes;                 // by the ranks at the ends
};

Result<MachineNetwork> MachineNetwork::of(const TopologyGraph& graph, std::span<const int> gpus,
                                          const std::vector<Schedule>& ranks, const Forest* forest) {
  auto table = std::make_shared<Table>();
  for (const TopologyLink& link : graph.links())
    table->bytes_per_s.push_back(static_cast<double>(link.kBps) * 1e3);
  std::set<std::pair<int, int>> connected;
  for_messages(ranks, [&](int from, int to, int, int) { connected.emplace(from, to); });
  if (forest != nullptr) table->routes = uses_of_edges(graph, *forest);
  const MessageLinks links(graph, gpus);
  for (const auto& [from, to] : connected) {
    if (table->routes.contains({from, to})) continue;
    RONDO_TRY_ASSIGN(const std::vector<Hop> hops, links.between(from, to));
    table->routes[{from, to}] = uses_of(hops);
  }
  MachineNetwork network;
  network.table_ = std::move(table);
  return network;
}

SimulatedNetwork MachineNetwork::network(double latency_s, int slots) const {
  return {.latency_s = latency_s,
          .slots = slots,
          .links = table_->bytes_per_s,
          .route = [table = table_](int from, int to, int) {
            return table->routes.at({from, to});
          }};
}

std::vector<double> loads_of(const std::vector<Schedule>& ranks, const SimulatedNetwork& network) {
  const double chunks = std::max(ranks.front().chunks.input, ranks.front().chunks.output);
  std::vector<double> loads(network.links.empty() ? 2 * ranks.size() : network.links.size());
  std::map<std::tuple<int, int, int>, double> sent;
  for_messages(ranks, [&](int from, int to, int port, int count) {
    sent[{from, to, port}] += count / chunks;
  });
  for (const auto& [connection, volume] : sent) {
    const auto [from, to, port] = connection;
    if (network.links.empty()) {
      loads[static_cast<size_t>(from)] += volume;
      loads[ranks.size() + static_cast<size_t>(to)] += volume;
      continue;
    }
    for (const auto& [link, share] : network.route(from, to, port))
      loads[static_cast<size_t>(link)] += volume * share;
  }
  return loads;
}

}  // namespace rondo
