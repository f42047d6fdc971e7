// SPDX-License-Identifier: Apache-2.0
// The table of algorithms. A new one takes its own file, a declaration in rows.h, and a line here.
#include <fmt/ranges.h>

#include "base/words.h"

#include "rows.h"

namespace rondo {
namespace {

std::vector<std::string_view> names_of(CollectiveKind kind) {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms())
    if (row.kind == kind) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const Algorithm rows[] = {
      all_reduce_one_shot(),
      all_reduce_two_shot(),
      all_reduce_recursive_doubling(),
      all_reduce_halving_doubling(),
      all_reduce_ring(),
      all_reduce_double_binary_tree(),
      all_reduce_parameter_server(),
      all_reduce_hierarchical(),
      all_reduce_leaders(),
      broadcast_binomial(),
      broadcast_knomial4(),
      broadcast_scatter_allgather(),
      broadcast_chain(),
      broadcast_flat(),
      reduce_binomial(),
      reduce_knomial4(),
      reduce_halving_gather(),
      reduce_chain(),
      reduce_flat(),
      all_gather_ring(),
      all_gather_recursive_doubling(),
      all_gather_bruck(),
      all_gather_direct(),
      all_gather_hierarchical(),
      reduce_scatter_ring(),
      reduce_scatter_recursive_halving(),
      reduce_scatter_direct(),
      reduce_scatter_hierarchical(),
      all_to_all_pairwise(),
      all_to_all_direct(),
      gather_linear(),
      gather_binomial(),
      gather_knomial4(),
      scatter_linear(),
      scatter_binomial(),
      scatter_knomial4(),
      barrier_dissemination(),
      barrier_flat(),
      barrier_leaders(),
      scan_recursive_doubling(),
      scan_chain(),
      scan_flat(),
      exscan_recursive_doubling(),
      exscan_chain(),
      exscan_flat(),
  };
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
