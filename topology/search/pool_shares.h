// SPDX-License-Identifier: Apache-2.0
// PoolShares: how bytes spread over equal switches, such as the NVSwitches of a machine, which the search
// takes for one. What goes from a to b takes a share of each:
//
//         .-- 5 -- w0 -- 5 --.
//   a ---<                    >--- b       shares 5 : 4
//         '-- 4 -- w1 -- 4 --'
//
// If all neighbours have their links in one proportion, all shares have it too. If not, since some links are
// down, the neighbour with the least capacity to spare comes first: what it sends and receives spreads over
// its links evenly, and the others share what is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limit/rational.h"

namespace rondo {

template <typename T>
using Table = std::vector<std::vector<T>>;

struct Pool {
  Table<int64_t> sends;     // kB/s from a neighbour to a switch, by neighbour and switch
  Table<int64_t> receives;  // from the switch to the neighbour
  Table<int64_t> weights;   // of trees that go through the pool, by neighbours: from, to
};

/// Shares of the switches, by neighbours: from, to. Nothing: none were found with which the switches carry
/// the trees in `scale` seconds.
std::optional<Table<std::vector<int64_t>>> pool_shares(const Pool& pool, const Rational& scale);

}  // namespace rondo
