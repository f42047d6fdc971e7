// SPDX-License-Identifier: Apache-2.0
#include "search/stars.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/error_kinds.h"

namespace rondo {
namespace {

using KBpsOfRanks = std::vector<int64_t>;

/// What GPUs can send through all NVSwitches at once, each of which gets a part of it in proportion to the
/// narrowest link to it.
struct SwitchRates {
  KBpsOfRanks of_rank;  // if the other GPUs' links limited nothing
  int64_t of_all = 0;   // each GPU as much as the others
};

/// By NVSwitch, of those that every GPU is joined to in both directions: the slower direction.
std::map<int, KBpsOfRanks> joined_switches(const TopologyGraph& graph, std::span<const int> gpus) {
  std::map<int, KBpsOfRanks> up, down;
  for (size_t rank = 0; rank != gpus.size(); ++rank)
    for (const TopologyLink& link : graph.links()) {
      const auto add = [&](std::map<int, KBpsOfRanks>& to, int node) {
        if (!graph.node(node).combines) return;
        KBpsOfRanks& kBps = to[node];
        kBps.resize(gpus.size());
        kBps[rank] += link.kBps;
      };
      if (link.from == gpus[rank]) add(up, link.to);
      if (link.to == gpus[rank]) add(down, link.from);
    }
  std::map<int, KBpsOfRanks> joined;
  for (auto& [node, kBps] : up) {
    const auto other = down.find(node);
    if (other == down.end()) continue;
    for (size_t rank = 0; rank != gpus.size(); ++rank) kBps[rank] = std::min(kBps[rank], other->second[rank]);
    if (std::ranges::min(kBps) > 0) joined.emplace(node, std::move(kBps));
  }
  return joined;
}

Result<SwitchRates> switch_rates(const TopologyGraph& graph, std::span<const int> gpus) {
  if (gpus.size() < 2) return error(Code::InvalidArgument, "{} GPUs: expected two at least", gpus.size());
  const auto switches = joined_switches(graph, gpus);
  if (switches.empty())
    return error(ErrorKind::GpusNotJoined, "no NVSwitch that combines data joins all GPUs");
  SwitchRates rates{KBpsOfRanks(gpus.size(), std::numeric_limits<int64_t>::max())};
  for (const auto& [node, kBps] : switches) rates.of_all += std::ranges::min(kBps);
  for (const auto& [node, kBps] : switches)
    for (size_t rank = 0; rank != gpus.size(); ++rank) {
      const WideInteger rate = WideInteger{kBps[rank]} * rates.of_all / std::ranges::min(kBps);
      rates.of_rank[rank] = static_cast<int64_t>(std::min<WideInteger>(rates.of_rank[rank], rate));
    }
  return rates;
}

}  // namespace

Result<StarPlan> star_plan(const TopologyGraph& graph, std::span<const int> gpus, std::vector<Star> stars) {
  RONDO_TRY_ASSIGN(const SwitchRates rates, switch_rates(graph, gpus));
  KBpsOfRanks shares(gpus.size());
  WideInteger whole = 0;
  for (const Star& star : stars) {
    shares[static_cast<size_t>(star.head)] += star.share;
    whole += star.share;
  }
  if (whole == 0) return error(Code::InvalidArgument, "no stars");
  // A GPU's links carry the vector and its share of it.
  std::optional<Rational> lowest;
  StarPlan plan{std::move(stars), 0, 0};
  for (size_t rank = 0; rank != gpus.size(); ++rank) {
    const Rational kBps = Rational::rounded_up(rates.of_rank[rank] * whole, whole + shares[rank]);
    if (lowest && kBps >= *lowest) continue;
    lowest = kBps;
    plan.narrowest = static_cast<int>(rank);
  }
  const auto n = std::ssize(gpus);
  plan.bus_kBps = Rational::rounded_up(WideInteger{lowest->numerator()} * 2 * (n - 1),
                                       WideInteger{lowest->denominator()} * n);
  return plan;
}

Result<StarPlan> find_stars(const TopologyGraph& graph, std::span<const int> gpus) {
  RONDO_TRY_ASSIGN(const SwitchRates rates, switch_rates(graph, gpus));
  // A vector at rate W takes W of every GPU's links, and W more of those of all heads together; what a GPU's
  // links have beyond W is its room as a head. All rates are times n + 1 here, and so whole.
  const auto n = std::ssize(gpus);
  WideInteger all = 0;
  for (const int64_t kBps : rates.of_rank) all += kBps;
  const WideInteger fastest = std::min(all, (n + 1) * WideInteger{rates.of_all});
  std::vector<Star> stars;
  for (size_t rank = 0; rank != gpus.size(); ++rank)
    if (const WideInteger room = (n + 1) * WideInteger{rates.of_rank[rank]} - fastest; room > 0)
      stars.push_back({static_cast<int>(rank), static_cast<int64_t>(room)});
  return star_plan(graph, gpus, std::move(stars));
}

}  // namespace rondo
