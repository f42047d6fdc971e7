// SPDX-License-Identifier: Apache-2.0
#include "verbs/rails.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace rondo::verbs {
namespace {

/// For each port its tier: 0 for the nearest ones, 1 for the next.
std::vector<int> tiers_of(std::span<const VerbsPort> ports) {
  double fastest = 0;
  for (const VerbsPort& port : ports) fastest = std::max(fastest, port.rate);
  const auto key = [&](const VerbsPort& port) { return std::pair(port.rate < fastest / 2, port.distance); };
  std::set<std::pair<bool, uint16_t>> keys;
  for (const VerbsPort& port : ports) keys.insert(key(port));
  std::vector<int> tiers;
  for (const VerbsPort& port : ports)
    tiers.push_back(static_cast<int>(std::distance(keys.begin(), keys.find(key(port)))));
  return tiers;
}

/// A pair of ports in the order in which it is considered, which is the same at both ends.
struct RankedPair {
  int tier = 0;  // the sum of its ports' tiers
  bool crosses_rails = false;
  int turn_of_lower = 0;  // how long after its first port the lower rank's turn comes
  int turn_of_upper = 0;
  RailPair ports;  // `here` is the lower rank's

  auto key() const { return std::tuple(tier, crosses_rails, turn_of_lower, turn_of_upper); }
};

int turn(const RailEnd& end, int position) {
  const auto count = static_cast<int>(end.ports.size());
  return (position - end.first + count) % count;
}

/// All pairs that reach, best first.
std::vector<RankedPair> ranked_pairs(const RailEnd& lower, const RailEnd& upper, const Reaches& reaches) {
  const std::vector<int> tiers_of_lower = tiers_of(lower.ports);
  const std::vector<int> tiers_of_upper = tiers_of(upper.ports);
  std::vector<RankedPair> pairs;
  for (size_t i = 0; i < lower.ports.size(); ++i)
    for (size_t j = 0; j < upper.ports.size(); ++j) {
      if (!reaches(lower.ports[i], upper.ports[j])) continue;
      const RailPair ports{static_cast<int>(i), static_cast<int>(j)};
      pairs.push_back({tiers_of_lower[i] + tiers_of_upper[j], lower.ports[i].rail != upper.ports[j].rail,
                       turn(lower, ports.here), turn(upper, ports.there), ports});
    }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const RankedPair& a, const RankedPair& b) { return a.key() < b.key(); });
  return pairs;
}

/// Takes pairs in their order, each port once at most, as long as they are as near as the first.
Rails divide(const std::vector<RankedPair>& pairs) {
  Rails rails;
  std::set<int> taken_of_lower;
  std::set<int> taken_of_upper;
  for (const RankedPair& pair : pairs) {
    const auto [lower, upper] = pair.ports;
    const bool is_free = !taken_of_lower.contains(lower) && !taken_of_upper.contains(upper);
    const bool is_used = pair.tier == pairs.front().tier && is_free;
    (is_used ? rails.used : rails.spare).push_back(pair.ports);
    if (!is_used) continue;
    taken_of_lower.insert(lower);
    taken_of_upper.insert(upper);
  }
  return rails;
}

}  // namespace

std::vector<int> nearest_ports(std::span<const VerbsPort> ports) {
  const std::vector<int> tiers = tiers_of(ports);
  std::vector<int> nearest;
  for (size_t i = 0; i < tiers.size(); ++i)
    if (tiers[i] == 0) nearest.push_back(static_cast<int>(i));
  return nearest;
}

double rate_of_connection(std::span<const VerbsPort> ports, size_t pairs) {
  std::vector<double> rates;
  for (const int position : nearest_ports(ports)) rates.push_back(ports[static_cast<size_t>(position)].rate);
  std::sort(rates.begin(), rates.end(), std::greater<>());
  rates.resize(std::min(rates.size(), pairs != 0 ? pairs : kUsualPairs));
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

int first_port(std::span<const VerbsPort> ports, uint32_t turn) {
  const std::vector<int> nearest = nearest_ports(ports);
  return nearest.empty() ? -1 : nearest[turn % nearest.size()];
}

Rails rails_between(const RailEnd& here, const RailEnd& there, const Reaches& reaches) {
  const bool swapped = there.rank < here.rank;
  Rails rails = divide(swapped ? ranked_pairs(there, here, reaches) : ranked_pairs(here, there, reaches));
  if (swapped)
    for (auto* pairs : {&rails.used, &rails.spare})
      for (RailPair& pair : *pairs) std::swap(pair.here, pair.there);
  return rails;
}

}  // namespace rondo::verbs
