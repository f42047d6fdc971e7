// Which ranks are near one another. All that have the same list find the same. Pure: any thread.
#pragma once

#include <vector>

#include "comm/member.h"

namespace rondo {

/// 0, 1, ... in such an order that the ranks of a host are together, and among them those whose first allowed
/// CPU is the same; otherwise as they were.
std::vector<int> near_together(const std::vector<const Member*>& ranks);

/// How many ranks at a time, one after another, are nearer to one another than to the others: those of a host
/// or, where there is one host, those that use one last-level cache. 1: they do not come so in equal numbers.
int near_at_a_time(const std::vector<const Member*>& ranks);

}  // namespace rondo
