// SPDX-License-Identifier: Apache-2.0
// The rings of one host, as cycles of RingHops: the fastest that share its links. First the widest ring over
// what the links have left, again and again, which gives few channels; in several ways, since what the first
// rings leave need not have another. If none reaches the bound, the linear program whose columns are all
// rings, each found when the prices of links make it worthwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "ring_hops.h"
#include "work_limit.h"

namespace rondo {

struct HostRing {
  std::vector<int> order;  // nodes, beginning with node 0
  std::vector<int> ways;   // by hop: which of RingHops::between()
  int network = -1;
  int64_t kBps = 0;
};

struct HostRings {
  std::vector<HostRing> rings;
  bool is_optimal = false;  // no others are faster

  int64_t kBps() const;
};

/// `bound`: that no rings exceed together.
HostRings find_host_rings(const RingHops& hops, int64_t bound, WorkLimit& limit);

}  // namespace rondo
