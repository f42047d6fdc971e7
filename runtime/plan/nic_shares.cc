// SPDX-License-Identifier: Apache-2.0
#include "plan/nic_shares.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace rondo {
namespace {

using Hosts = std::span<const std::vector<RankPorts>>;

/// More parts make shorter messages. A share is at most that many parts.
constexpr int kMaxWeight = 8;
/// Weights are worth it if a vector takes at most this part of the time.
constexpr double kGain = 0.97;

size_t places_of(Hosts hosts) {
  size_t places = hosts.front().size();
  for (const auto& ranks : hosts) places = std::min(places, ranks.size());
  return places;
}

bool are_known(Hosts hosts) {
  for (const auto& ranks : hosts)
    for (const RankPorts& rank : ranks)
      if (rank.ports.rails == 0 || rank.ports.rate_Gbps == 0 || rank.rate_Gbps <= 0) return false;
  return true;
}

bool uses(const RankPorts& rank, int rail) {
  return (rank.ports.rails >> static_cast<unsigned>(rail) & 1U) != 0;
}

/// A sum over the places of a host for each of its ports.
using PerPort = std::array<double, NearPorts::kMax>;
PerPort per_port(std::span<const RankPorts> ranks, auto&& of_rank) {
  PerPort sums{};
  for (size_t place = 0; place < ranks.size(); ++place)
    for (int rail = 0; rail < NearPorts::kMax; ++rail)
      if (uses(ranks[place], rail)) sums[static_cast<size_t>(rail)] += of_rank(place);
  return sums;
}

/// The rate of each port, Gbit/s: a rank that has slower ones too says less.
PerPort rates_of(std::span<const RankPorts> ranks) {
  PerPort rates{};
  for (const RankPorts& rank : ranks)
    for (int rail = 0; rail < NearPorts::kMax; ++rail)
      if (uses(rank, rail)) {
        double& rate = rates[static_cast<size_t>(rail)];
        rate = std::max(rate, static_cast<double>(rank.ports.rate_Gbps));
      }
  return rates;
}

/// The time until the last port and rank have sent their parts of a vector, in that of all at 1 Gbit/s.
double time_of(Hosts hosts, const std::vector<int>& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double time = 0;
  for (const auto& host : hosts) {
    const auto ranks = std::span(host).first(weights.size());
    const PerPort rates = rates_of(ranks);
    const PerPort loads = per_port(
        ranks, [&](size_t place) { return weights[place] / all / std::popcount(ranks[place].ports.rails); });
    for (size_t rail = 0; rail < loads.size(); ++rail)
      if (loads[rail] > 0) time = std::max(time, loads[rail] / rates[rail]);
    for (size_t place = 0; place < weights.size(); ++place)
      time = std::max(time, weights[place] / all / ranks[place].rate_Gbps);
  }
  return time;
}

/// What each place has of the rates of its ports, if the ranks of a host divide each of them equally; of the
/// host where that is least.
std::vector<double> rates_of_places(Hosts hosts, size_t places) {
  std::vector<double> least(places, std::numeric_limits<double>::infinity());
  for (const auto& host : hosts) {
    const auto ranks = std::span(host).first(places);
    const PerPort rates = rates_of(ranks), users = per_port(ranks, [](size_t) { return 1; });
    for (size_t place = 0; place < places; ++place) {
      double sum = 0;
      for (int rail = 0; rail < NearPorts::kMax; ++rail)
        if (uses(ranks[place], rail))
          sum += rates[static_cast<size_t>(rail)] / users[static_cast<size_t>(rail)];
      least[place] = std::min({least[place], sum, ranks[place].rate_Gbps});
    }
  }
  return least;
}

/// Weights in proportion to these rates, of which the largest is `largest`.
std::vector<int> in_proportion(const std::vector<double>& rates, int largest) {
  const double unit = *std::ranges::max_element(rates) / largest;
  std::vector<int> weights;
  for (const double rate : rates) weights.push_back(std::max(1, static_cast<int>(std::lround(rate / unit))));
  return weights;
}

/// The smallest weights than which no larger ones are much better.
std::vector<int> best_weights(Hosts hosts, size_t places) {
  const std::vector<double> rates = rates_of_places(hosts, places);
  std::vector<int> best(places, 1);
  double time = time_of(hosts, best);
  for (int largest = 2; largest <= kMaxWeight; ++largest) {
    std::vector<int> weights = in_proportion(rates, largest);
    const double of_these = time_of(hosts, weights);
    if (of_these > time * kGain) continue;
    best = std::move(weights);
    time = of_these;
  }
  return best;
}

double slowest_rate(Hosts hosts) {
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& ranks : hosts)
    for (const RankPorts& rank : ranks) slowest = std::min(slowest, rank.rate_Gbps);
  return slowest;
}

double largest_share(const std::vector<int>& weights) {
  return *std::ranges::max_element(weights) / std::accumulate(weights.begin(), weights.end(), 0.0);
}

}  // namespace

std::string NicShares::text() const {
  if (weights.empty()) return "";
  return fmt::format("the ranks of a host carry {} parts of a vector between hosts{}",
                     fmt::join(weights, ":"), serve_host_memory ? "" : ", if it is in memory of GPUs");
}

NicShares nic_shares(Hosts hosts, const ShareCosts& costs, bool gpus_are_joined) {
  NicShares shares;
  if (!are_known(hosts)) return shares;
  const size_t places = places_of(hosts);
  const std::vector<int> equal(places, 1), best = best_weights(hosts, places);
  if (best == equal) return shares;
  const double time = time_of(hosts, best), time_of_equal = time_of(hosts, equal);
  shares.factor = time / largest_share(best) / (time_of_equal / largest_share(equal));
  // An all_reduce of two groups: between them every share goes once in each direction, and within them the
  // busiest rank sends its share to the others, and to each of them theirs.
  const double gain = costs.us_per_byte_between * slowest_rate(hosts) * (time_of_equal - time);
  const double loss = costs.us_per_byte_within * (static_cast<double>(places) - 2) *
                      (largest_share(best) - largest_share(equal));
  shares.serve_host_memory = gain > loss;
  shares.serve_gpus = gpus_are_joined;
  if (shares.serve_host_memory || shares.serve_gpus) shares.weights = best;
  return shares;
}

}  // namespace rondo
