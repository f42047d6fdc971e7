// SPDX-License-Identifier: Apache-2.0
// The table of algorithms, as meson.build lists it.
#include <fmt/ranges.h>

#include "algorithms/algorithm.h"
#include "base/error_kinds.h"
#include "base/words.h"
#include "schedule/relabelled.h"

#include "algorithm_rows.h"

namespace rondo {

RONDO_DECLARE_ALGORITHM_ROWS

namespace {

std::vector<std::string_view> names_of(CollectiveKind kind) {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms())
    if (row.kind == kind) names.emplace_back(row.name);
  return names;
}

/// What was written for ranks in the order of their numbers, for Shape::order.
std::function<Schedule(const Shape&, int)> build_by_places(const Algorithm& row) {
  return [row](const Shape& shape, int rank) {
    return follows_order(row, shape) ? build_in_order(row, shape, rank, shape.order) : row.build(shape, rank);
  };
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> rows = [] {
    std::vector<Algorithm> made = {RONDO_ALGORITHM_ROWS};
    for (Algorithm& row : made) row.build = build_by_places(row);
    return made;
  }();
  return rows;
}

Result<const Algorithm*> algorithm_by_name(CollectiveKind kind, std::string_view name) {
  for (const Algorithm& row : algorithms())
    if (row.kind == kind && row.name == name) return &row;
  const auto names = names_of(kind);
  return error(ErrorKind::NameUnknown, "{} has no algorithm '{}'; it has: {}{}", collective_name(kind), name,
               fmt::join(names, ", "), did_you_mean(name, names));
}

bool follows_order(const Algorithm& algorithm, const Shape& shape) {
  if (shape.order.empty() || algorithm.for_groups) return !shape.order.empty();
  return algorithm.association == Association::Any && !algorithm.connects_all &&
         may_relabel(shape, algorithm.max_count(shape));
}

Schedule build_in_order(const Algorithm& algorithm, const Shape& shape, int rank,
                        std::span<const int> order) {
  return relabelled(shape, algorithm.build(by_places(shape, order), place_in(order, rank)), order);
}

}  // namespace rondo
