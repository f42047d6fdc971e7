// SPDX-License-Identifier: Apache-2.0
#include "power_groups.h"

#include "parts.h"

namespace rondo {

PowerGroups::PowerGroups(int nranks) : groups_(1 << floor_log2(nranks)), extra_(nranks - groups_) {}

}  // namespace rondo
