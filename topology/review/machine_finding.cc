// SPDX-License-Identifier: Apache-2.0
#include "review/machine_finding.h"

#include <span>
#include <vector>

#include "limit/bound.h"

namespace rondo {

Result<MachineLimits> machine_limits(const Machine& machine, int hosts, const GraphOptions& options) {
  const std::vector<size_t> kind_of_host(static_cast<size_t>(hosts));
  RONDO_TRY_ASSIGN(const TopologyGraph graph,
                   TopologyGraph::build(std::span(&machine, 1), kind_of_host, options));
  if (graph.gpus().size() < 2) return MachineLimits();
  const TopologyGraph links = fabric_or_all(graph, graph.gpus());
  RONDO_TRY_ASSIGN(const BandwidthBound all_gather,
                   bandwidth_bound(links, graph.gpus(), CollectiveKind::AllGather));
  RONDO_TRY_ASSIGN(const BandwidthBound all_reduce,
                   bandwidth_bound(links, graph.gpus(), CollectiveKind::AllReduce));
  return MachineLimits{all_gather.bus, all_reduce.bus};
}

}  // namespace rondo
