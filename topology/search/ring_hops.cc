// SPDX-License-Identifier: Apache-2.0
#include "ring_hops.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "limit/rational.h"
#include "packing_simplex.h"

namespace rondo {
namespace {

// Shares of NVSwitches have a common denominator up to this; beyond it they are rounded up.
constexpr int64_t kMaxDenominator = int64_t{1} << 20;

/// A hop while its rows are not known.
struct RawHop {
  int from, to;
  RingHop hop;
  std::vector<Hop> links;
};

bool leads_through_gpu(const TopologyGraph& graph, const RawHop& raw) {
  return std::any_of(raw.links.begin() + 1, raw.links.end(), [&](const Hop& hop) {
    return graph.node(graph.link(hop[0].link).from).kind == NodeKind::Gpu;
  });
}

/// What a hop takes of a link: share / of.
struct LinkUser {
  int hop;
  int64_t share, of;
};

/// Amounts by hop, ascending.
using Amounts = std::vector<std::pair<int, int64_t>>;

/// Of a link: what all hops together take, and the capacity.
using LinkRow = std::pair<const Amounts, int64_t>;

std::map<int, std::vector<LinkUser>> users_by_link(const std::vector<RawHop>& hops) {
  std::map<int, std::vector<LinkUser>> users;
  for (size_t i = 0; i != hops.size(); ++i)
    for (const Hop& hop : hops[i].links) {
      const int64_t all = sum_of_shares(hop);
      for (const LinkShare& part : hop) {
        const int64_t common = std::gcd(part.share, all);
        users[part.link].push_back({static_cast<int>(i), part.share / common, all / common});
      }
    }
  return users;
}

/// A row for a link: amounts without a common divisor, and the capacity in their unit.
std::pair<Amounts, int64_t> row_of(int64_t kBps, const std::vector<LinkUser>& users) {
  int64_t denominator = 1;
  for (const LinkUser& user : users) {
    const WideInteger common = WideInteger{denominator} / std::gcd(denominator, user.of) * user.of;
    denominator = static_cast<int64_t>(std::min(common, WideInteger{kMaxDenominator}));
  }
  Amounts amounts;
  int64_t divisor = 0;
  for (const LinkUser& user : users) {
    const WideInteger share = WideInteger{user.share} * denominator;
    const auto amount = static_cast<int64_t>((share + user.of - 1) / user.of);
    if (amounts.empty() || amounts.back().first != user.hop) amounts.emplace_back(user.hop, 0);
    amounts.back().second += amount;
  }
  for (const auto& [hop, amount] : amounts) divisor = std::gcd(divisor, amount);
  for (auto& [hop, amount] : amounts) amount /= divisor;
  const WideInteger capacity = WideInteger{kBps} * denominator / divisor;
  return {std::move(amounts), static_cast<int64_t>(std::min(capacity, WideInteger{PackingSimplex::kMax}))};
}

/// Whether each amount of `b` is at most that of `a`.
bool covers(const Amounts& a, const Amounts& b) {
  auto other = a.begin();
  return std::ranges::all_of(b, [&](const auto& use) {
    while (other != a.end() && other->first < use.first) ++other;
    return other != a.end() && other->first == use.first && use.second <= other->second;
  });
}

/// Rows that no other row implies.
std::vector<LinkRow> limiting_rows(const TopologyGraph& graph, const std::vector<RawHop>& hops) {
  std::map<Amounts, int64_t> rows;
  for (const auto& [link, users] : users_by_link(hops)) {
    auto [amounts, capacity] = row_of(graph.link(link).kBps, users);
    const auto [known, is_new] = rows.emplace(std::move(amounts), capacity);
    if (!is_new) known->second = std::min(known->second, capacity);
  }
  std::vector<std::vector<const LinkRow*>> rows_of(hops.size());
  for (const LinkRow& row : rows)
    for (const auto& [hop, amount] : row.first) rows_of[static_cast<size_t>(hop)].push_back(&row);
  // What implies a row has all of its hops, so the one that the fewest rows have.
  const auto is_implied = [&](const LinkRow& row) {
    const auto rarest = std::ranges::min_element(
        row.first, {}, [&](const auto& use) { return rows_of[static_cast<size_t>(use.first)].size(); });
    return std::ranges::any_of(rows_of[static_cast<size_t>(rarest->first)], [&](const LinkRow* other) {
      return other != &row && other->second <= row.second && covers(other->first, row.first);
    });
  };
  std::vector<LinkRow> limiting;
  std::ranges::remove_copy_if(rows, std::back_inserter(limiting), is_implied);
  return limiting;
}

std::vector<int> nics_of(const TopologyGraph& graph, int host) {
  std::vector<int> nics;
  for (const int nic : graph.nics())
    if (graph.node(nic).host == host) nics.push_back(nic);
  return nics;
}

/// Between node 0, the other hosts, and each GPU.
void add_ways_out(const TopologyGraph& graph, std::span<const int> gpus, const RingRoutes& routes,
                  std::vector<RawHop>& hops) {
  for (const int nic : nics_of(graph, graph.node(gpus[0]).host)) {
    const auto network = routes.network_of(nic);
    if (!network) continue;
    for (size_t i = 0; i != gpus.size(); ++i) {
      const auto node = static_cast<int>(i) + 1;
      const RingHop hop{{}, nic, network->network};
      if (auto out = routes.from_gpu(gpus[i], nic)) {
        out->push_back(network->to);
        hops.push_back({node, 0, hop, std::move(*out)});
      }
      if (auto in = routes.from_nic(nic, gpus[i])) {
        in->insert(in->begin(), network->from);
        hops.push_back({0, node, hop, std::move(*in)});
      }
    }
  }
}

}  // namespace

RingHops::RingHops(const TopologyGraph& graph, std::span<const int> gpus, const RingRoutes& routes,
                   bool leads_to_other_hosts, ThroughGpus through_gpus)
    : nodes_(static_cast<int>(gpus.size()) + (leads_to_other_hosts ? 1 : 0)),
      hops_(static_cast<size_t>(nodes_) * static_cast<size_t>(nodes_)) {
  std::vector<RawHop> hops;
  const int first = leads_to_other_hosts ? 1 : 0;
  for (int from = first; from != nodes_; ++from)
    for (int to = first; to != nodes_; ++to)
      if (from != to)
        if (auto links = routes.from_gpu(gpus[static_cast<size_t>(from - first)],
                                         gpus[static_cast<size_t>(to - first)]))
          hops.push_back({from, to, {}, std::move(*links)});
  if (leads_to_other_hosts) add_ways_out(graph, gpus, routes, hops);
  if (through_gpus == ThroughGpus::No)
    std::erase_if(hops, [&](const RawHop& hop) { return leads_through_gpu(graph, hop); });
  for (const auto& [amounts, capacity] : limiting_rows(graph, hops)) {
    for (const auto& [hop, amount] : amounts)
      hops[static_cast<size_t>(hop)].hop.uses.push_back({static_cast<int>(capacities_.size()), amount});
    capacities_.push_back(capacity);
  }
  std::set<int> networks;
  for (RawHop& raw : hops) {
    if (raw.hop.network >= 0) networks.insert(raw.hop.network);
    hops_[index(raw.from, raw.to)].push_back(std::move(raw.hop));
  }
  if (!leads_to_other_hosts) networks.insert(-1);
  networks_.assign(networks.begin(), networks.end());
}

}  // namespace rondo
