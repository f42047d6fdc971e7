// SPDX-License-Identifier: Apache-2.0
#include "over_levels.h"

#include <algorithm>
#include <cstdint>

#include "between_groups.h"
#include "groups.h"
#include "parts.h"

namespace rondo {
namespace {

/// The call between the groups of the first level, as the ranks at one place of them make it.
Shape call_between(const Shape& shape) {
  const int size = shape.levels.innermost();
  return {.kind = shape.kind,
          .nranks = shape.nranks / size,
          .root = shape.root / size,
          .varying = shape.varying,
          .commutative = shape.commutative,
          .levels = shape.levels.outside()};
}

/// How many times the chunks of all blocks, or of the vector, Scratch has at most: each level has its own.
int scratch_of_levels(const Shape& shape) {
  switch (shape.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Broadcast: return 0;
    case CollectiveKind::AllToAll: return 2 * shape.levels.count();
    default: return shape.levels.count() + 1;
  }
}

bool can(const Algorithm& across, const Shape& shape) {
  if (!has_groups(shape)) return false;
  const Between between(across, shape);
  if (!between.supports()) return false;
  const int64_t size = shape.levels.innermost(), scratch = std::max(1, scratch_of_levels(shape));
  if (!traits(shape.kind).has_blocks())
    return fits(shape, 4 * size * between.pieces(), size * between.parts() * scratch);
  if (shape.varying && (between.collects() || between.max_count() > 1)) return false;
  return fits(shape, int64_t{4} * shape.nranks, scratch);
}

int parts_over(const Algorithm& across, const Shape& shape) {
  if (traits(shape.kind).has_blocks()) return 1;
  return shape.levels.innermost() * Between(across, shape).parts();
}

int max_count_over(const Algorithm& across, const Shape& shape) {
  const Between between(across, shape);
  switch (shape.kind) {
    case CollectiveKind::AllToAll: return shape.levels.innermost() * between.max_count();
    case CollectiveKind::AllGather: return between.collects() ? between.call().nranks : 1;
    case CollectiveKind::ReduceScatter: return between.max_count();
    default: return std::max(between.max_count(), between.parts() / between.pieces());
  }
}

/// What a share of the data costs, if `cost` is that of all.
Cost of_share(Cost cost, double share) {
  for (double* volume : {&cost.volume, &cost.steady, &cost.folds, &cost.warm, &cost.mean.volume,
                         &cost.mean.folds, &cost.mean.warm})
    *volume *= share;
  return cost;
}

/// The share of a rank's data that it handles between groups.
double share_between(const Shape& shape) {
  return shape.kind == CollectiveKind::AllToAll ? 1 : 1.0 / shape.levels.innermost();
}

/// Within the smallest groups.
Cost cost_within(const Algorithm& across, const Shape& shape) {
  const Between between(across, shape);
  const double size = shape.levels.innermost(), mates = size - 1, groups = between.call().nranks;
  const double vector = mates / size, pieces = between.pieces();
  const double folds = between.cost().folds == 0 ? 0 : vector;  // as far as the kind's algorithms say so
  switch (shape.kind) {
    case CollectiveKind::AllReduce:
      return {.rounds = 2,
              .volume = 2 * vector,
              .steady = 2 * vector,
              .messages = 2 * mates * pieces,
              .folds = folds};
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
              .volume = 2 * vector + (mates - 1) / size,
              .steady = 2 * vector,
              .messages = 2 * mates * pieces,
              .mean = {.volume = vector, .messages = mates * pieces}};
    case CollectiveKind::Reduce:
      return {.rounds = 2,
              .volume = 2 * vector,
              .steady = 2 * vector,
              .messages = (mates + 1) * pieces,
              .folds = folds,
              .mean = {.volume = vector + vector / shape.nranks,
                       .messages = (mates + mates / shape.nranks) * pieces,
                       .folds = folds}};
    default:
      return {.rounds = std::max(1.0, groups - between.rounds()),
              .volume = vector,
              .steady = vector,
              .messages = mates * groups};
  }
}

Schedule build_over(const Algorithm& across, const Shape& shape, int rank) {
  return schedule_over(Between(across, shape), shape, rank, parts_over(across, shape),
                       max_count_over(across, shape));
}

}  // namespace

Between::Between(const Algorithm& across, const Shape& shape) : across_(across), call_(call_between(shape)) {
  if (!call_.levels.empty()) over_.emplace(over_levels(across.name, across.summary, across));
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

int Between::pieces() const {
  return max_count() == 1 && call_.nranks > 2 && cost().rounds >= parts() ? parts() : 1;
}

Algorithm over_levels(const char* name, const char* summary, const Algorithm& across) {
  return {.name = name,
          .kind = across.kind,
          .summary = summary,
          .supports = [across](const Shape& shape) { return can(across, shape); },
          .cost =
              [across](const Shape& shape) {
                return of_share(Between(across, shape).cost(), share_between(shape));
              },
          .cost_is_estimate = across.cost_is_estimate || across.kind == CollectiveKind::Broadcast,
          .inner_cost =
              [across](const Shape& shape, int level) {
                if (level == 0) return cost_within(across, shape);
                return of_share(Between(across, shape).inner_cost(level - 1), share_between(shape));
              },
          .build = [across](const Shape& shape, int rank) { return build_over(across, shape, rank); },
          .max_count = [across](const Shape& shape) { return max_count_over(across, shape); },
          .parts = [across](const Shape& shape) { return parts_over(across, shape); },
          .for_groups = true,
          .connects_all = across.connects_all};
}

}  // namespace rondo
