// The control tree: who watches whom, and along which edges notices of failures go. Pure arithmetic.
//
//              0            ranks of a host hang below its lowest rank, which hangs below another host's:
//           /  |  \         an edge inside a host is a Unix socket, one between hosts a TCP connection,
//          1   2   4        and the edges between hosts are as few as can be
//         host A   |
//                  5  host B
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rondo {

struct ControlTree {
  int parent = -1;  // -1: the root
  std::vector<int> children;
};

/// The place of `rank`; hosts[r] is the same number for ranks of the same host.
ControlTree control_tree(std::span<const uint64_t> hosts, int rank);

}  // namespace rondo
