// SPDX-License-Identifier: Apache-2.0
#include "host_rings.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "cycle_search.h"
#include "packing_simplex.h"
#include "ring_goals.h"

namespace rondo {
namespace {

// Of one depth-first search: enough for all rings through 8 nodes.
constexpr int64_t kMaxHops = 16'000;

// Of taking the widest rings: where it can reach the bound, it does so within the first few, and further ones
// may need fewer rings.
constexpr int kAttempts = 48;
constexpr int kAttemptsAtBound = 12;
constexpr int kMaxEqualRings = 8;

// Of the linear program, whose inverse has the square of that many numbers.
constexpr size_t kMaxRows = 1'200;

class HostSearch {
 public:
  HostSearch(const RingHops& hops, int64_t bound, WorkLimit& limit)
      : hops_(hops), bound_(bound), limit_(limit) {}

  HostRings run() {
    HostRings best = take_widest_in_turn();
    if (best.is_optimal || limit_.over() || hops_.capacities().size() > kMaxRows) return best;
    HostRings packed = pack(best.rings);
    best.is_optimal = packed.is_optimal;
    keep_better(best, std::move(packed));
    return best;
  }

 private:
  static void keep_better(HostRings& best, HostRings found) {
    if (found.kBps() > best.kBps() || (found.kBps() == best.kBps() && found.rings.size() < best.rings.size()))
      best = std::move(found);
  }

  /// Rings of any speed, then rings of up to a half of the bound, a third, ...: one that takes all that it
  /// can may leave nothing for others. Leaves half of the limit to what follows.
  HostRings take_widest_in_turn() {
    WorkLimit half = limit_.half();
    HostRings best;
    std::minstd_rand random;  // the same numbers on every host
    size_t fewest = 1;        // rings that can reach the bound
    for (int attempt = 0; attempt != kAttempts && !half.over(); ++attempt) {
      if (best.is_optimal && (best.rings.size() <= fewest || attempt >= kAttemptsAtBound)) break;
      keep_better(
          best, take_widest(attempt == 0 ? nullptr : &random, bound_ / (attempt % kMaxEqualRings + 1), half));
      if (attempt > 0 || best.rings.empty()) continue;
      const int64_t widest = best.rings[0].kBps;
      fewest = static_cast<size_t>((bound_ + widest - 1) / widest);
    }
    limit_.count(half);
    return best;
  }

  /// `random`: if not null, equally wide hops come in an order of its own for each ring.
  HostRings take_widest(std::minstd_rand* random, int64_t fastest, WorkLimit& limit) {
    HostRings result;
    std::vector<int64_t> left = hops_.capacities();
    std::vector<int> places(static_cast<size_t>(hops_.nodes()));
    std::iota(places.begin(), places.end(), 0);
    int64_t total = 0;
    while (total < bound_) {
      for (size_t i = places.size(); random != nullptr && i > 1; --i)
        std::swap(places[i - 1], places[(*random)() % i]);
      HostRing widest;
      for (const int network : hops_.networks()) {
        WidestRing goal(hops_, left, places, network, std::min(bound_ - total, fastest));
        CycleSearch(hops_.nodes(), goal, limit, kMaxHops).run();
        if (goal.found().kBps > widest.kBps) widest = goal.found();
      }
      if (widest.kBps == 0) return result;
      const std::vector<int64_t> amounts = amounts_of(widest);
      for (size_t row = 0; row != left.size(); ++row) left[row] -= amounts[row] * widest.kBps;
      total += widest.kBps;
      add(std::move(widest), result.rings);
    }
    result.is_optimal = true;
    return result;
  }

  /// A ring that is there already becomes faster.
  static void add(HostRing ring, std::vector<HostRing>& rings) {
    const auto known = std::ranges::find_if(rings, [&](const HostRing& other) {
      return other.order == ring.order && other.ways == ring.ways && other.network == ring.network;
    });
    if (known == rings.end())
      rings.push_back(std::move(ring));
    else
      known->kBps += ring.kBps;
  }

  std::vector<int64_t> amounts_of(const HostRing& ring) const {
    std::vector<int64_t> amounts(hops_.capacities().size());
    for (size_t i = 0; i != ring.order.size(); ++i) {
      const int from = ring.order[i], to = ring.order[(i + 1) % ring.order.size()];
      for (const RowUse& use : hops_.between(from, to)[static_cast<size_t>(ring.ways[i])].uses)
        amounts[static_cast<size_t>(use.row)] += use.amount;
    }
    return amounts;
  }

  HostRings pack(const std::vector<HostRing>& first) {
    PackingSimplex simplex(hops_.capacities());
    std::vector<HostRing> columns;
    bool goes_on = true;
    for (const HostRing& ring : first)
      if (goes_on && cost_of(simplex, ring) < simplex.unit()) goes_on = add(simplex, ring, columns);
    bool is_optimal = false;
    while (goes_on && !is_optimal) {
      auto [ring, is_cheapest] = cheapest(simplex);
      is_optimal = ring.order.empty() && is_cheapest;
      goes_on = !ring.order.empty() && add(simplex, std::move(ring), columns);
      is_optimal |= total(simplex) >= bound_;
    }
    HostRings result{{}, is_optimal};
    for (const auto& [id, kBps] : simplex.values()) {
      result.rings.push_back(columns[static_cast<size_t>(id)]);
      result.rings.back().kBps = kBps;
    }
    return result;
  }

  WideInteger cost_of(const PackingSimplex& simplex, const HostRing& ring) const {
    const std::vector<int64_t> amounts = amounts_of(ring);
    WideInteger cost = 0;
    for (int row = 0; row != simplex.rows(); ++row)
      cost += WideInteger{simplex.price(row)} * amounts[static_cast<size_t>(row)];
    return cost;
  }

  bool add(PackingSimplex& simplex, HostRing ring, std::vector<HostRing>& columns) {
    if (!limit_.allows(simplex.rows())) return false;
    columns.push_back(std::move(ring));
    return simplex.add(amounts_of(columns.back()), static_cast<int>(columns.size()) - 1);
  }

  static int64_t total(const PackingSimplex& simplex) {
    int64_t sum = 0;
    for (const auto& [id, kBps] : simplex.values()) sum += kBps;
    return sum;
  }

  /// The ring that the prices make most worthwhile, if there is one, and whether all were looked at.
  std::pair<HostRing, bool> cheapest(const PackingSimplex& simplex) {
    std::vector<int64_t> prices;
    for (int row = 0; row != simplex.rows(); ++row) prices.push_back(simplex.price(row));
    std::pair<HostRing, bool> result{{}, true};
    int64_t limit = simplex.unit();
    for (const int network : hops_.networks()) {
      CheapestRing goal(hops_, prices, network, limit);
      result.second &= CycleSearch(hops_.nodes(), goal, limit_, kMaxHops).run();
      if (!goal.found().order.empty()) result.first = goal.found();
      limit = goal.cost();
    }
    return result;
  }

  const RingHops& hops_;
  const int64_t bound_;
  WorkLimit& limit_;
};

}  // namespace

int64_t HostRings::kBps() const {
  int64_t sum = 0;
  for (const HostRing& ring : rings) sum += ring.kBps;
  return sum;
}

HostRings find_host_rings(const RingHops& hops, int64_t bound, WorkLimit& limit) {
  return HostSearch(hops, bound, limit).run();
}

}  // namespace rondo
