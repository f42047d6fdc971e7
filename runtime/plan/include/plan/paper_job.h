// SPDX-License-Identifier: Apache-2.0
// PaperJob: ranks that need not exist, and what a communicator of them could choose from. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/comm_topology.h"
#include "plan/connection_costs.h"
#include "plan/executor.h"

namespace rondo {

struct PaperJob {
  int nranks = 1;
  int hosts = 1;  // divides nranks: each host has equally many consecutive ranks
  int cpus = 0;   // that the ranks of a host share; 0: as many as the calling thread may use
};

/// What the ranks know about each other. All hosts are like this one in what messages cost; between them
/// there is no other network than TCP.
std::vector<PeerInfo> peers_of(const PaperJob& job);

/// What calls on host memory are made by, without prepare().
struct HostExecutors {
  LinkModel links;
  std::vector<Executor> rows;
};

/// `slot_bytes`: 0: the transport's. For the others see CommTopology.
HostExecutors host_executors(const CommTopology& topology, const std::optional<Levels>& requested_levels,
                             size_t slot_bytes, int64_t requested_pull_bytes);

}  // namespace rondo
