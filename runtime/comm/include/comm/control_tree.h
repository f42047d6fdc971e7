// The control tree: who watches whom, and along which edges notices of failures go. Pure arithmetic.
//
//              0            ranks of a host hang below its lowest rank, which hangs below another host's:
//           /  |  \         an edge inside a host is a Unix socket, one between hosts a TCP connection,
//          1   2   4        and the edges between hosts are as few as can be
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

/// The parent of each rank before any has gone; -1: the root. hosts[r] is the same number for ranks of the
/// same host.
std::vector<int> control_parents(std::span<const uint64_t> hosts);

/// The place of `rank` among the ranks that have not gone: below the nearest ancestor that is left, or else
/// below the lowest rank that is left, which is the root then.
ControlTree control_tree(std::span<const int> parents, const std::set<int>& gone, int rank);

}  // namespace rondo
