// SPDX-License-Identifier: Apache-2.0
// The table of algorithms, as meson.build lists it.
#include <fmt/ranges.h>

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

}  // namespace rondo
