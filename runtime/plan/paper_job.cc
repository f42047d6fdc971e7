// SPDX-License-Identifier: Apache-2.0
#include "plan/paper_job.h"

#include <memory>

#include "base/saved_costs.h"
#include "plan/preference.h"
#include "topology/binding.h"

namespace rondo {

std::vector<PeerInfo> peers_of(const PaperJob& job) {
  int32_t cpus = job.cpus;
  if (cpus == 0) {
    const auto bound = bound_cpus();
    cpus = bound.ok() ? static_cast<int32_t>(bound.value().size()) : 1;
  }
  const auto saved = saved_costs();
  const auto costs = saved ? std::make_shared<const HostCosts>(saved->costs) : nullptr;
  std::vector<PeerInfo> peers(static_cast<size_t>(job.nranks));
  for (int rank = 0; rank < job.nranks; ++rank) {
    PeerInfo& peer = peers[static_cast<size_t>(rank)];
    peer.rank = rank;
    peer.nranks = job.nranks;
    peer.endpoint.host = static_cast<uint64_t>(rank / (job.nranks / job.hosts));
    peer.endpoint.process = static_cast<uint64_t>(rank);
    peer.allowed_cpus = cpus;
    peer.costs = costs;
  }
  return peers;
}

HostExecutors host_executors(const CommTopology& topology, const std::optional<Levels>& requested_levels,
                             size_t slot_bytes, int64_t requested_pull_bytes) {
  HostExecutors made{.links = topology.links(requested_levels), .rows = {}};
  ConnectionParams asked;
  asked.slot_bytes = slot_bytes;
  if (const auto terms = topology.pull_terms(requested_pull_bytes)) made.rows.push_back(shm_pull_row(*terms));
  made.rows.push_back(connections_row(made.links, topology.settle(asked).slot_bytes));
  put_in_order(made.rows);
  return made;
}

}  // namespace rondo
