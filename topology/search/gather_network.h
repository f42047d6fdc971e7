// SPDX-License-Identifier: Apache-2.0
// GatherNetwork: capacities between GPUs and switches in whole numbers, and whether they suffice for an
// all-gather: k trees a root exist if and only if each of the n GPUs can receive n k at once from a source
// that gives k to every GPU (J. Edmonds, "Edge-disjoint branchings", 1973), given that no switch sends more
// than it receives (L. Zhao et al., "ForestColl", arXiv 2402.06787).
//
//            k   gpu0 --.
//         .----> gpu1 --- capacities --->  gpu t   receives n k
//   source ----> ...  --'
//
// Lowering a capacity by c lowers every cut by c or not at all, so the worst shortfall that results tells how
// much of c was too much.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "compact_graph.h"
#include "limit/flow_network.h"
#include "limit/rational.h"
#include "work_limit.h"

namespace rondo {

class GatherNetwork {
 public:
  /// Capacities are 0 until set_scale().
  GatherNetwork(const CompactGraph& graph, WorkLimit& limit);

  /// Capacities for k trees a root: what the edges carry in `scale` seconds, in whole kB.
  void set_scale(const Rational& scale, int64_t k);

  bool is_limit_over() const { return limit_->over(); }

  int gpus() const { return graph_->gpus; }
  int nodes() const { return graph_->nodes; }
  int64_t capacity(int from, int to) const;
  void add_capacity(int from, int to, int64_t amount);

  /// Makes flows faster. set_scale() must not follow.
  void forget_edges_without_capacity();

  /// Nodes with capacity to or from a node, ascending, and the sum of these capacities.
  std::vector<int> before(int node) const;
  std::vector<int> after(int node) const;
  int64_t entering(int node) const;
  int64_t leaving(int node) const;

  /// What the worst GPU lacks of n k, or `most` if that is less. `most` if the limit was reached.
  int64_t shortfall(int64_t most = FlowNetwork::kUnlimited);

 private:
  int64_t shortfall_of(int gpu);

  const CompactGraph* graph_;
  WorkLimit* limit_;
  int64_t k_ = 0;
  FlowNetwork flows_;                         // the source is its last node
  std::vector<int> sources_;                  // edges from the source, in flows_
  std::map<std::pair<int, int>, int> edges_;  // the others
  int last_ = 0;                              // GPU that lacked something; it is asked first
};

}  // namespace rondo
