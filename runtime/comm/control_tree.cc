#include "comm/control_tree.h"

#include <algorithm>

namespace rondo {
namespace {

constexpr size_t kFanOut = 8;

/// Adds the parent and children of `rank` in the k-ary heap over `ranks`, if it is in there.
void add_edges(const std::vector<int>& ranks, int rank, ControlTree& tree) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end()) return;
  const auto at = static_cast<size_t>(found - ranks.begin());
  if (at != 0) tree.parent = ranks[(at - 1) / kFanOut];
  for (size_t child = at * kFanOut + 1; child <= at * kFanOut + kFanOut && child < ranks.size(); ++child)
    tree.children.push_back(ranks[child]);
}

}  // namespace

ControlTree control_tree(std::span<const uint64_t> hosts, int rank) {
  std::vector<int> leaders;
  std::vector<int> neighbours;  // the ranks of the own host
  for (size_t r = 0; r < hosts.size(); ++r) {
    if (std::find(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(r), hosts[r]) ==
        hosts.begin() + static_cast<std::ptrdiff_t>(r))
      leaders.push_back(static_cast<int>(r));
    if (hosts[r] == hosts[static_cast<size_t>(rank)]) neighbours.push_back(static_cast<int>(r));
  }
  ControlTree tree;
  add_edges(leaders, rank, tree);
  add_edges(neighbours, rank, tree);
  return tree;
}

}  // namespace rondo
