// SPDX-License-Identifier: Apache-2.0
#include "review/machine_finding.h"

#include <vector>

#include "limit/bound.h"

namespace rondo {

Result<MachineLimits> machine_limits(const Machine& machine, int hosts, const GraphOptions& options) {
  const std::vector<Machine> all(static_cast<size_t>(hosts), machine);
  RONDO_TRY_ASSIGN(const TopologyGraph graph, TopologyGraph::build(all, options));
  if (graph.gpus().size() < 2) return MachineLimits();
  const TopologyGraph links = fabric_or_all(graph, graph.gpus());
  RONDO_TRY_ASSIGN(const BandwidthBound all_gather,
                   bandwidth_bound(links, graph.gpus(), CollectiveKind::AllGather));
  RONDO_TRY_ASSIGN(const BandwidthBound all_reduce,
                   bandwidth_bound(links, graph.gpus(), CollectiveKind::AllReduce));
  return MachineLimits{all_gather.bus, all_reduce.bus};
}

}  // namespace rondo
