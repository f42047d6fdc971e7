// SPDX-License-Identifier: Apache-2.0
// The table of algorithms, as meson.build lists it.
#include <fmt/ranges.h>
#include <algorithm>
#include <cassert>

#include "algorithms/algorithm.h"
#include "base/words.h"

#include "algorithm_rows.h"

namespace rondo {

// The list is `all_reduce_one_shot(), all_reduce_two_shot(), ...`: here it declares the functions, below it
// calls them.
Algorithm RONDO_ALGORITHM_ROWS;

namespace {

std::vector<std::string_view> names_of(CollectiveKind kind) {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms())
    if (row.kind == kind) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const Algorithm rows[] = {RONDO_ALGORITHM_ROWS};
  return rows;
}

Result<const Algorithm*> algorithm_by_name(CollectiveKind kind, std::string_view name) {
  for (const Algorithm& row : algorithms())
    if (row.kind == kind && row.name == name) return &row;
  const auto names = names_of(kind);
  return error(Code::InvalidArgument, "{} has no algorithm '{}'; it has: {}{}", collective_name(kind), name,
               fmt::join(names, ", "), did_you_mean(name, names));
}

Schedule build_in_order(const Algorithm& algorithm, const Shape& shape, int rank,
                        const std::vector<int>& order) {
  assert(is_free_in_order(shape.kind));
  const auto place = [&order](int of) {
    return static_cast<int>(std::find(order.begin(), order.end(), of) - order.begin());
  };
  Shape by_place = shape;
  by_place.root = place(shape.root);
  Schedule schedule = algorithm.build(by_place, place(rank));
  schedule.rank = rank;
  for (auto& set : schedule.peer_sets)
    for (uint16_t& peer : set) peer = static_cast<uint16_t>(order[peer]);
  return schedule;
}

}  // namespace rondo
