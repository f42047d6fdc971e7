// SPDX-License-Identifier: Apache-2.0
// The C API's plans for topologies: what was found, the links that its trees cross, trees over hosts, and
// stars.
#include <numeric>

#include "limit/bound.h"
#include "search/double_tree.h"
#include "search/find_forest.h"
#include "search/stars.h"
#include "topology_handle.h"

namespace {

using namespace rondo;
using api::check_struct;
using api::check_topology;
using api::guarded;

void add_hops(const Forest& forest, const Tree& tree, const TreeEdge& edge, const std::vector<int>& links,
              int tree_index, std::vector<rondo_topology_plan_hop_t>& hops) {
  // What a unit of weight carries: 1 / scale.
  const double unit_GBps = 1 / forest.scale.approximate() / 1e6;
  const auto node_of = [&](int rank) { return forest.gpus[static_cast<size_t>(rank)]; };
  for (const GpuRoute& route : edge.routes)
    for (const Hop& side_by_side : route.hops) {
      const int64_t shares = sum_of_shares(side_by_side);
      for (const LinkShare& share : side_by_side) {
        const double part = static_cast<double>(share.share) / static_cast<double>(shares);
        rondo_topology_plan_hop_t hop = {};
        hop.tree = tree_index;
        hop.parts = static_cast<int>(tree.weight);
        hop.root = node_of(tree.root);
        hop.parent = node_of(edge.parent);
        hop.child = node_of(edge.child);
        hop.depth = edge.depth;
        hop.link = links[static_cast<size_t>(share.link)];
        hop.bandwidth = static_cast<double>(route.weight) * part * unit_GBps;
        hops.push_back(hop);
      }
    }
}

/// Searched for once; under the topology's mutex.
Result<const api::FoundPlan*> found_plan(rondo_topology& topology, bool all_links) {
  const auto known = topology.plans.find(all_links);
  if (known != topology.plans.end()) return &known->second;
  const TopologyGraph& graph = topology.graph;
  if (graph.gpus().empty()) return error(Code::InvalidArgument, "topology: it has no GPUs");
  const TopologyGraph some = api::usual_links(topology, all_links ? 1 : 0);
  RONDO_TRY_ASSIGN(Forest forest, find_forest(some, graph.gpus()));
  const std::vector<int> links = api::link_indices(topology, some);
  api::FoundPlan& plan = topology.plans[all_links];
  plan.forest = std::move(forest);
  int index = 0;
  for (const Tree& tree : plan.forest.trees) {
    for (const TreeEdge& edge : tree.edges) add_hops(plan.forest, tree, edge, links, index, plan.hops);
    ++index;
  }
  return &plan;
}

}  // namespace

rondo_status_t rondo_topology_plan(rondo_topology_t topology, int all_links, rondo_topology_plan_t* plan) {
  return guarded("rondo_topology_plan", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_struct("plan", plan));
    const std::lock_guard lock(topology->mutex);
    RONDO_TRY_ASSIGN(const api::FoundPlan* const found, found_plan(*topology, all_links != 0));
    const Forest& forest = found->forest;
    plan->bandwidth = api::gigabytes(forest.bus_kBps);
    plan->trees = static_cast<int>(forest.trees.size());
    plan->parts_per_root = static_cast<int>(forest.k);
    plan->depth = forest.depth();
    plan->complete = forest.stopped ? 0 : 1;
    return {};
  });
}

rondo_status_t rondo_topology_plan_hop(rondo_topology_t topology, int all_links, int index,
                                       rondo_topology_plan_hop_t* hop) {
  return guarded("rondo_topology_plan_hop", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_struct("hop", hop));
    const std::lock_guard lock(topology->mutex);
    RONDO_TRY_ASSIGN(const api::FoundPlan* const found, found_plan(*topology, all_links != 0));
    const size_t size = hop->size;
    const bool exists = index >= 0 && static_cast<size_t>(index) < found->hops.size();
    *hop = exists ? found->hops[static_cast<size_t>(index)]
                  : rondo_topology_plan_hop_t{size, -1, 0, -1, -1, -1, 0, -1, 0};
    hop->size = size;
    return {};
  });
}

rondo_status_t rondo_topology_host_place(rondo_topology_t topology, int host,
                                         rondo_topology_host_place_t* place) {
  return guarded("rondo_topology_host_place", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_struct("place", place));
    const auto hosts = static_cast<size_t>(topology->graph.hosts());
    RONDO_TRY(api::check_index("host", host, hosts));
    std::vector<int> order(hosts);
    std::iota(order.begin(), order.end(), 0);
    const DoubleTree trees = double_tree(order);
    for (size_t tree = 0; tree != trees.parents.size(); ++tree)
      place->parents[tree] = trees.parents[tree][static_cast<size_t>(host)];
    return {};
  });
}

rondo_status_t rondo_topology_stars(rondo_topology_t topology, rondo_topology_stars_t* stars) {
  return guarded("rondo_topology_stars", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_struct("stars", stars));
    const TopologyGraph links = api::usual_links(*topology, 0);
    RONDO_TRY_ASSIGN(const BandwidthBound bound,
                     in_network_bound(links, links.gpus(), CollectiveKind::AllReduce));
    RONDO_TRY_ASSIGN(const StarPlan plan, find_stars(links, links.gpus()));
    stars->bandwidth = api::gigabytes(plan.bus_kBps);
    stars->ceiling = api::gigabytes(bound.bus);
    stars->heads = static_cast<int>(plan.stars.size());
    return {};
  });
}
