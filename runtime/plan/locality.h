// SPDX-License-Identifier: Apache-2.0
// Which ranks are close to one another. The same list gives the same result at all ranks. Pure: any thread.
#pragma once

#include <vector>

#include "bootstrap/peer_info.h"

namespace rondo {

/// 0, 1, ... reordered so that the ranks of a host are adjacent and sorted by their first allowed CPU;
/// otherwise in the given order.
std::vector<int> order_by_locality(const std::vector<const PeerInfo*>& ranks);

/// The size of the groups of consecutive ranks that are closer to one another than to the rest: the ranks of
/// a host or, if there is one host, those that share a last-level cache. 1: no groups of equal size.
int near_at_a_time(const std::vector<const PeerInfo*>& ranks);

}  // namespace rondo
