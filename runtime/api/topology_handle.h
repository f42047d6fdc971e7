// SPDX-License-Identifier: Apache-2.0
// What a rondo_topology_t is, and the checks that calls with topologies begin with.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "graph/paths.h"
#include "graph/topology_graph.h"
#include "handles.h"
#include "limit/bound.h"
#include "rondo/topology.h"
#include "search/forest.h"

/// A plan, and the links that it crosses as the C API lists them.
struct FoundPlan {
  rondo::Forest forest;
  std::vector<rondo_topology_plan_hop_t> hops;
};

struct rondo_topology {
  rondo_topology(rondo::Machine description, rondo::TopologyGraph made, int number_of_hosts,
                 const rondo::GraphOptions& graph_options)
      : machine(std::move(description)),
        graph(std::move(made)),
        hosts(number_of_hosts),
        options(graph_options) {}
  rondo_topology(const rondo_topology&) = delete;
  rondo_topology& operator=(const rondo_topology&) = delete;

  static constexpr uint64_t kMark = 0x6f706f74646e6f72;
  uint64_t mark = kMark;
  rondo::Machine machine;  // of each host
  rondo::TopologyGraph graph;
  int hosts;
  rondo::GraphOptions options;
  std::mutex mutex;                   // guards what follows
  std::optional<rondo::Paths> paths;  // when first needed
  std::map<std::tuple<rondo::CollectiveKind, int, bool>, rondo::BandwidthBound> limits;
  std::map<bool, FoundPlan> plans;  // by whether they are of all links
};

namespace rondo::api {

inline Status check_topology(rondo_topology_t topology, const char* name = "topology") {
  if (topology == nullptr) return null_argument(name);
  if (topology->mark != rondo_topology::kMark)
    return error(Code::InvalidArgument, "{}: not one, or freed", name);
  return {};
}

/// The caller's struct may be of a later version of the header, and longer; never shorter than the first.
template <typename Struct>
Status check_struct(const char* name, const Struct* given) {
  if (given == nullptr) return null_argument(name);
  if (given->size >= sizeof(Struct)) return {};
  return error(Code::InvalidArgument, "{}->size is {}: set it to sizeof(*{}), {} or more", name, given->size,
               name, sizeof(Struct));
}

}  // namespace rondo::api
