// SPDX-License-Identifier: Apache-2.0
#include "over_levels.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "between_groups.h"
#include "groups.h"
#include "parts.h"

namespace rondo {
namespace {

/// The weights of the ranks at one place of all smallest groups that make up one of the largest.
std::vector<int> weights_at(const Shape& shape, int place) {
  std::vector<int> weights;
  const auto size = static_cast<size_t>(Groups::smallest(shape).size());
  for (auto at = static_cast<size_t>(place); at < shape.weights.size(); at += size)
    weights.push_back(shape.weights[at]);
  return weights;
}

/// Whether there is a weight for each place of the largest groups, or none.
bool has_weights_that_fit(const Shape& shape) {
  if (shape.weights.empty()) return true;
  return !traits(shape.kind).has_blocks() && std::ssize(shape.weights) == Groups(shape).size();
}

/// The call between the groups of the first level, as the ranks at one place of them make it.
Shape call_between(const Shape& shape) {
  const Groups groups = Groups::smallest(shape);
  return {.kind = traits(shape.kind).is_scan() ? CollectiveKind::Exscan : shape.kind,
          .nranks = groups.count(),
          .root = groups.group_of(shape.root),
          .varying = shape.varying,
          .commutative = shape.commutative,
          .levels = shape.levels.outside()};
}

/// Of a scan: a prefix for each rank of a group, and the fold of the groups before.
int scratch_of_scan(const Shape& shape) {
  if (!shape.hosts.empty()) return Groups::smallest(shape).largest() + 1;
  int vectors = 0, inner = 1;
  for (int level = 0; level < shape.levels.count(); ++level) {
    vectors += shape.levels.size(level) / inner + 1;
    inner = shape.levels.size(level);
  }
  return vectors;
}

/// How many times the chunks of all blocks, or of the vector, Scratch has at most: each level has its own.
int scratch_of_levels(const Shape& shape) {
  switch (shape.kind) {
    case CollectiveKind::Scan:
    case CollectiveKind::Exscan: return scratch_of_scan(shape);
    case CollectiveKind::AllReduce:
    case CollectiveKind::Broadcast: return 0;
    case CollectiveKind::AllToAll: return 2 * shape.levels.count();
    default: return shape.levels.count() + 1;
  }
}

bool can(const Algorithm& across, const Shape& shape) {
  if (!has_groups(shape) || !has_weights_that_fit(shape)) return false;
  const Between between(across, shape);
  if (!between.supports()) return false;
  const Groups groups = Groups::smallest(shape);
  const int64_t scratch = std::max(1, scratch_of_levels(shape));
  if (!traits(shape.kind).has_blocks())
    return fits(shape, int64_t{4} * groups.largest() * between.pieces(),
                Shares(across, shape).all() * scratch);
  if (shape.varying && (between.collects() || between.max_count() > 1)) return false;
  return fits(shape, int64_t{4} * shape.nranks, scratch);
}

int parts_over(const Algorithm& across, const Shape& shape) {
  if (traits(shape.kind).has_blocks()) return 1;
  return Shares(across, shape).all();
}

/// The most parts of a vector that a Step moves at one of the places.
int max_parts_moved(const Algorithm& across, const Shape& shape) {
  const int places = shape.weights.empty() ? 1 : Groups::smallest(shape).size();
  int most = 1;
  for (int place = 0; place < places; ++place) {
    const Between between(across, shape, place);
    most =
        std::max(most, std::max(between.max_count(), between.parts() / between.pieces()) * between.scale());
  }
  return most;
}

int max_count_over(const Algorithm& across, const Shape& shape) {
  const Between between(across, shape);
  switch (shape.kind) {
    case CollectiveKind::AllToAll: return shape.levels.innermost() * between.max_count();
    case CollectiveKind::AllGather: return between.collects() ? between.call().nranks : 1;
    case CollectiveKind::ReduceScatter: return between.max_count();
    default: return max_parts_moved(across, shape);
  }
}

CpuWork times(CpuWork work, double factor) {
  return {work.volume * factor, work.messages * factor, work.folds * factor, work.warm * factor};
}

/// The average work that a Cost without one stands for: that of the busiest rank in a further tile.
CpuWork mean_of(const Cost& cost) {
  if (cost.mean.volume != 0) return cost.mean;
  const bool overlaps = cost.steady > 0;
  const double messages = overlaps && cost.messages == 0 ? cost.steady : std::max(cost.messages, cost.rounds);
  return {overlaps ? cost.steady : cost.volume, messages, cost.folds, cost.warm};
}

/// The place whose ranks carry most between groups: its parts of a vector, and all.
struct BusiestPlace {
  int place = 0;
  double own = 1, all = 1;

  double share() const { return own / all; }
};
BusiestPlace busiest_place(const Algorithm& across, const Shape& shape) {
  if (shape.weights.empty()) return {.all = static_cast<double>(Groups::smallest(shape).size())};
  const Shares shares(across, shape);
  const int place = shares.largest();
  return {place, static_cast<double>(shares.length(place)), static_cast<double>(shares.all())};
}

/// What the call between groups costs, if `cost_of` it is that for all data: of the share that the busiest
/// place has, and on average that places have.
Cost of_share(const Algorithm& across, const Shape& shape,
              const std::function<Cost(const Between&)>& cost_of) {
  const Groups groups = Groups::smallest(shape);
  const BusiestPlace busiest = busiest_place(across, shape);
  Cost cost = cost_of(Between(across, shape, busiest.place));
  const double with_places = static_cast<double>(groups.count()) * groups.size() / shape.nranks;
  if (with_places != 1 || !shape.weights.empty()) cost.mean = times(mean_of(cost), with_places);
  const bool is_shared = shape.kind != CollectiveKind::AllToAll;
  const double most = is_shared ? busiest.share() : 1, mean = is_shared ? 1.0 / groups.size() : 1;
  for (double* volume : {&cost.volume, &cost.steady, &cost.folds, &cost.warm}) *volume *= most;
  for (double* volume : {&cost.mean.volume, &cost.mean.folds, &cost.mean.warm}) *volume *= mean;
  return cost;
}

/// The exchanges within the smallest groups: each rank sends a share to each place, or each place to each
/// rank.
struct Exchange {
  Exchange(const Groups& groups, const Shape& shape)
      : places(groups.size()),
        to_places(places - 1),
        to_ranks(groups.largest() - 1),
        mean(1 - static_cast<double>(groups.count()) / shape.nranks),
        is_even(groups.largest() == groups.size() && shape.weights.empty()) {}

  double places;
  double to_places, to_ranks;  // messages of the busiest rank that has a place, in either direction
  double mean;                 // vectors of a rank, in either direction
  bool is_even;

  /// That work of a rank, if not all have as much.
  CpuWork mean_of(double exchanges, double pieces, double folds) const {
    if (is_even) return {};
    return {exchanges * mean, exchanges * mean * places * pieces, folds == 0 ? 0 : mean};
  }
};

/// Within the smallest groups.
Cost cost_within(const Algorithm& across, const Shape& shape) {
  const BusiestPlace busiest = busiest_place(across, shape);
  const Between between(across, shape, busiest.place);
  const Exchange each(Groups::smallest(shape), shape);
  const double size = each.places, mates = each.to_places, groups = between.call().nranks;
  const double vector = each.to_ranks * busiest.own / busiest.all, pieces = between.pieces();
  const double others = (busiest.all - busiest.own) / busiest.all;  // all shares but its own
  const double folds = between.cost().folds == 0 ? 0 : vector;      // as far as the kind's algorithms say so
  switch (shape.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Scan:
    case CollectiveKind::Exscan:
      return {.rounds = 2,
              .volume = 2 * vector,
              .steady = vector + others,
              .messages = (mates + each.to_ranks) * pieces,
              .folds = folds,
              .mean = each.mean_of(2, pieces, folds)};
    case CollectiveKind::AllGather:
      return {.rounds = between.collects() ? 1 : std::max(1.0, groups - between.rounds()),
              .volume = vector,
              .steady = vector,
              .messages = mates * (between.collects() ? 1 : groups)};
    case CollectiveKind::ReduceScatter:
      return {.rounds = std::max(1.0, groups - between.rounds()),
              .volume = vector,
              .steady = vector,
              .messages = mates * groups,
              .folds = folds};
    case CollectiveKind::Broadcast:
      // In a single tile, shares that come from the root one after the other meet at the ports.
      return {.rounds = 2,
              .volume = vector + others + std::max(0.0, mates - 1) / size,
              .steady = vector + others,
              .messages = (mates + each.to_ranks) * pieces,
              .mean = {.volume = each.mean, .messages = each.mean * size * pieces}};
    case CollectiveKind::Reduce:
      return {.rounds = 2,
              .volume = vector + others,
              .steady = vector + others,
              .messages = (mates + 1) * pieces,
              .folds = folds,
              .mean = {.volume = each.mean + others / shape.nranks,
                       .messages = (each.mean * size + mates / shape.nranks) * pieces,
                       .folds = folds == 0 ? 0 : each.mean}};
    default:
      return {.rounds = std::max(1.0, groups - between.rounds()),
              .volume = vector,
              .steady = vector,
              .messages = mates * groups};
  }
}

Schedule build_over(const Algorithm& across, const Shape& shape, int rank) {
  return schedule_over(across, shape, rank, max_count_over(across, shape));
}

}  // namespace

Between::Between(const Algorithm& across, const Shape& shape, int place)
    : across_(across), call_(call_between(shape)), weights_(weights_at(shape, place)) {
  if (!call_.levels.empty()) over_.emplace(over_levels(across.name, across.summary, across));
  if (weights_.empty()) return;
  depends_on_place_ = weights_.size() > 1;
  scale_ = std::accumulate(weights_.begin(), weights_.end(), 0, std::gcd<int, int>);
  for (int& weight : weights_) weight /= scale_;
  if (std::ranges::any_of(weights_, [](int weight) { return weight != 1; })) call_.weights = weights_;
}

double Between::rounds() const {
  double all = cost().rounds;
  for (int level = 0; level < call_.levels.count(); ++level) all += inner_cost(level).rounds;
  return all;
}

bool Between::collects() const {
  return call_.kind == CollectiveKind::AllToAll ||
         (call_.kind == CollectiveKind::AllGather && max_count() > 1);
}

/// The ranks of a group send the pieces of all places in one order. If places have different calls, there is
/// none that suits all of them.
int Between::pieces() const {
  if (depends_on_place_) return 1;
  return max_count() == 1 && call_.nranks > 2 && cost().rounds >= parts() ? parts() : 1;
}

Shares::Shares(const Algorithm& across, const Shape& shape) : places_(Groups::smallest(shape).size()) {
  const auto length_of = [&](int place) {
    const Between between(across, shape, place);
    return between.parts() * between.scale();
  };
  each_ = length_of(0);
  if (shape.weights.empty()) return;
  firsts_.push_back(0);
  for (int place = 0; place < places_; ++place) firsts_.push_back(firsts_.back() + length_of(place));
}

int Shares::largest() const {
  int most = 0;
  for (int place = 0; place < places_; ++place)
    if (length(place) > length(most)) most = place;
  return most;
}

Algorithm over_levels(const char* name, const char* summary, const Algorithm& across) {
  return over_levels(across.kind, name, summary, across);
}

Algorithm over_levels(CollectiveKind kind, const char* name, const char* summary, const Algorithm& across) {
  return {.name = name,
          .kind = kind,
          .summary = summary,
          .supports = [across](const Shape& shape) { return can(across, shape); },
          .cost =
              [across](const Shape& shape) {
                return of_share(across, shape, [](const Between& between) { return between.cost(); });
              },
          .cost_is_estimate =
              across.cost_is_estimate || kind == CollectiveKind::Broadcast || traits(kind).is_scan(),
          .inner_cost =
              [across](const Shape& shape, int level) {
                if (level == 0) return cost_within(across, shape);
                return of_share(across, shape,
                                [level](const Between& between) { return between.inner_cost(level - 1); });
              },
          .build = [across](const Shape& shape, int rank) { return build_over(across, shape, rank); },
          .max_count = [across](const Shape& shape) { return max_count_over(across, shape); },
          .parts = [across](const Shape& shape) { return parts_over(across, shape); },
          .for_groups = true,
          .has_shares = true,
          .connects_all = across.connects_all};
}

}  // namespace rondo
