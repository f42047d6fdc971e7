// SPDX-License-Identifier: Apache-2.0
// LinkWeights: what routes make the links of a machine carry, summed up exactly, and what that says of the
// time that they take. Forests and rings are evaluated by it. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "limit/rational.h"
#include "search/forest.h"

namespace rondo {

/// Whether a route may lead through GPUs that pass bytes on, as NCCL's paths NVB and PXN do.
enum class ThroughGpus : bool { No, Yes };

/// Links with the largest quotient of weight and kBps, ascending, and that quotient: of weight in kB the
/// seconds that all of it takes.
struct BusiestLinks {
  Rational scale;
  std::vector<int> links;
};

class LinkWeights {
 public:
  explicit LinkWeights(const TopologyGraph& graph) : graph_(graph), weights_(graph.links().size()) {}

  /// Follows a route by the share of its bytes at each node. InternalError, with what is wrong, if it does
  /// not consist of joined links of the graph that lead from node `start` to node `end`.
  Status add(const GpuRoute& route, int start, int end, ThroughGpus through_gpus = ThroughGpus::No);

  /// By link: the weight of the routes that cross it.
  const std::vector<Rational>& weights() const { return weights_; }

  /// InternalError if a quotient does not fit.
  Result<BusiestLinks> busiest() const;

 private:
  using Shares = std::map<int, Rational>;  // of the bytes, by node

  Result<Shares> follow(const GpuRoute& route, const Hop& hop, const Shares& at);
  bool passes_gpu(const Shares& at) const;

  const TopologyGraph& graph_;
  std::vector<Rational> weights_;
};

}  // namespace rondo
