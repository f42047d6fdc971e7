// Which ranks are near one another. Pure: any thread.
#pragma once

#include <vector>

#include "comm/member.h"

namespace rondo {

/// 0, 1, ... in such an order that the ranks of a host are together, and among them those whose first allowed
/// CPU is the same; otherwise as they were. All that have the same list get the same order.
std::vector<int> near_together(const std::vector<const Member*>& ranks);

}  // namespace rondo
