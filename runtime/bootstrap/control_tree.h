// SPDX-License-Identifier: Apache-2.0
// The control tree: which rank watches which, and the edges along which failure notices travel. Pure
// arithmetic.
//
//              0            the ranks of a host hang below its lowest rank, which hangs below another host's:
//           /  |  \         an edge inside a host is a Unix socket, one between hosts a TCP connection,
//          1   2   4        and there are as few edges between hosts as possible
//         host A   |
//                  5  host B
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace rondo {

struct ControlTree {
  int parent = -1;  // -1: the root
  std::vector<int> children;
};

/// The parent of each rank while no rank has gone; -1: the root. Ranks of the same host have the same
/// hosts[r].
std::vector<int> control_parents(std::span<const uint64_t> hosts);

/// The position of `rank` among the remaining ranks: below its nearest remaining ancestor, or else below the
/// lowest remaining rank, which is then the root.
ControlTree control_tree(std::span<const int> parents, const std::set<int>& gone, int rank);

}  // namespace rondo
