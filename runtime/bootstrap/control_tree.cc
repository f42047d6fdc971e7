// SPDX-License-Identifier: Apache-2.0
#include "control_tree.h"

#include <map>

namespace rondo {
namespace {

constexpr size_t kFanOut = 8;

/// Arranges the ranks as a k-ary heap.
void hang(const std::vector<int>& ranks, std::vector<int>& parents) {
  for (size_t at = 1; at < ranks.size(); ++at)
    parents[static_cast<size_t>(ranks[at])] = ranks[(at - 1) / kFanOut];
}

}  // namespace

std::vector<int> control_parents(std::span<const uint64_t> hosts) {
  std::vector<int> leaders;
  std::map<uint64_t, std::vector<int>> ranks_of;  // by host
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    std::vector<int>& ranks = ranks_of[hosts[rank]];
    if (ranks.empty()) leaders.push_back(static_cast<int>(rank));
    ranks.push_back(static_cast<int>(rank));
  }
  std::vector<int> parents(hosts.size(), -1);
  hang(leaders, parents);
  for (const auto& [host, ranks] : ranks_of) hang(ranks, parents);
  return parents;
}

ControlTree control_tree(std::span<const int> parents, const std::set<int>& gone, int rank) {
  int lowest = 0;
  while (gone.contains(lowest)) ++lowest;
  const auto parent_of = [&](int of) {
    int parent = parents[static_cast<size_t>(of)];
    while (gone.contains(parent)) parent = parents[static_cast<size_t>(parent)];
    return parent >= 0 || of == lowest ? parent : lowest;
  };
  ControlTree tree{parent_of(rank), {}};
  for (int other = 0; other < std::ssize(parents); ++other)
    if (!gone.contains(other) && parent_of(other) == rank) tree.children.push_back(other);
  return tree;
}

}  // namespace rondo
