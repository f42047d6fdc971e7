// SPDX-License-Identifier: Apache-2.0
// NicShares: how much of a vector each rank of a host carries between hosts (Shape::weights), so that its
// NICs finish together, where ranks have fewer of them, share some, or have faster ones. All ranks compute
// the same, from what all ranks know. Pure functions: any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transports/transport.h"

namespace rondo {

/// The time of a vector's byte between the groups of a level, and within them.
struct ShareCosts {
  double us_per_byte_between = 0;  // over the ports of the rank with the slowest, alone
  double us_per_byte_within = 0;
};

struct NicShares {
  std::vector<int> weights = {};  // of the places in a host; empty: none are better than equal ones
  /// The time that a byte of the largest share takes, relative to one of equal shares: less, if ranks with
  /// smaller shares have slower ports, or share some.
  double factor = 1;
  // Which calls they make faster. What ranks of a host exchange takes longer if one of them carries more.
  bool serve_host_memory = false;
  bool serve_gpus = false;

  bool serve(bool on_gpu) const { return on_gpu ? serve_gpus : serve_host_memory; }
  /// For human readers; empty without weights.
  std::string text() const;
};

/// A rank's ports, and the rate at which it can send over them.
struct RankPorts {
  NearPorts ports;
  double rate_Gbps = 0;

  friend bool operator==(const RankPorts& a, const RankPorts& b) {
    return a.ports.rails == b.ports.rails && a.ports.rate_Gbps == b.ports.rate_Gbps &&
           a.rate_Gbps == b.rate_Gbps;
  }
};

/// `hosts`: the ranks of each by place, at least one; of equal hosts one is enough. `costs`: of host memory.
/// `gpus_are_joined`: whether GPUs of a host exchange data faster than its NICs.
NicShares nic_shares(std::span<const std::vector<RankPorts>> hosts, const ShareCosts& costs,
                     bool gpus_are_joined);

}  // namespace rondo
