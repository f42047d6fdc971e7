// SPDX-License-Identifier: Apache-2.0
#include "synthesis/link_times.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/error_kinds.h"
#include "gpus_of_ranks.h"
#include "limit/bound.h"
#include "search/message_links.h"
#include "synthesis/machine_network.h"

namespace rondo {
namespace {

using Routes = std::map<std::pair<int, int>, std::vector<SimulatedLinkUse>>;

Result<Routes> routes_between(const TopologyGraph& graph, const std::vector<int>& gpus) {
  Routes routes;
  const auto nranks = static_cast<int>(gpus.size());
  for (int from = 0; from < nranks; ++from)
    for (int to = 0; to < nranks; ++to) {
      if (from == to) continue;
      const std::array ends{gpus[static_cast<size_t>(from)], gpus[static_cast<size_t>(to)]};
      RONDO_TRY_ASSIGN(const std::vector<Hop> hops, MessageLinks(graph, ends).between(0, 1));
      routes[{from, to}] = uses_of(hops);
    }
  return routes;
}

}  // namespace

struct LinkTimes::Machine {
  GpusOfRanks ranks;
  SimulatedNetwork network;
};

Result<LinkTimes> LinkTimes::of(const RanksOfMachine& ranks) {
  RONDO_TRY_ASSIGN(GpusOfRanks found, gpus_of_ranks(ranks));
  if (std::set(found.gpus.begin(), found.gpus.end()).size() != found.gpus.size())
    return error(ErrorKind::GpuIsShared, "ranks share a GPU");
  RONDO_TRY_ASSIGN(Routes routes, routes_between(found.graph, found.gpus));
  SimulatedNetwork network;
  for (const TopologyLink& link : found.graph.links())
    network.links.push_back(static_cast<double>(link.kBps) * 1e3);
  network.route = [routes = std::move(routes)](int from, int to, int) { return routes.at({from, to}); };
  return LinkTimes(std::make_shared<const Machine>(Machine{std::move(found), std::move(network)}));
}

double LinkTimes::of_busiest(const std::vector<double>& loads) const {
  double busiest = 0;
  for (size_t link = 0; link < loads.size(); ++link)
    busiest = std::max(busiest, loads[link] / machine_->network.links[link] * 1e6);
  return busiest;
}

int LinkTimes::nranks() const { return static_cast<int>(machine_->ranks.gpus.size()); }

double LinkTimes::us_per_byte(const std::function<double(int from, int to)>& volume) const {
  std::vector<double> loads(machine_->network.links.size());
  for (int from = 0; from < nranks(); ++from)
    for (int to = 0; to < nranks(); ++to)
      if (from != to)
        for (const auto& [link, share] : machine_->network.route(from, to, 0))
          loads[static_cast<size_t>(link)] += volume(from, to) * share;
  return of_busiest(loads);
}

double LinkTimes::us_per_byte(const std::vector<Schedule>& ranks) const {
  return of_busiest(loads_of(ranks, machine_->network));
}

double LinkTimes::least_us_per_byte(CollectiveKind kind, int root) const {
  const auto& [graph, gpus] = machine_->ranks;
  const auto bound = bandwidth_bound(fabric_or_all(graph, gpus), gpus, kind, root);
  if (!bound.ok()) return 0;
  const double bytes_per_us = bound.value().bus.approximate() * 1e-3;
  return bus_factor(kind, nranks()) / bytes_per_us;
}

}  // namespace rondo
