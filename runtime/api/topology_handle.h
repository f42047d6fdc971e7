// SPDX-License-Identifier: Apache-2.0
// What a rondo_topology_t is, and what functions that take one share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/error_kinds.h"
#include "detect/detect_machine.h"
#include "graph/machine.h"
#include "graph/paths.h"
#include "graph/topology_graph.h"
#include "handles.h"
#include "limit/bound.h"
#include "rondo/topology.h"
#include "search/forest.h"
#include "search/rings.h"

namespace rondo::api {

/// A plan, and the links that it crosses as the C API lists them.
struct FoundPlan {
  Forest forest;
  std::vector<rondo_topology_plan_hop_t> hops;
};

/// Rings, the nodes of each, and the links that they cross, when first needed.
struct FoundRings {
  RingPlan plan;
  std::vector<std::vector<int>> nodes;
  std::optional<std::vector<rondo_topology_ring_hop_t>> hops = {};
};

/// A graph of NCCL's on the machine.
struct EvaluatedGraph {
  int id = 0;
  std::string_view pattern;
  int channels = 0;
  double stated = 0, bandwidth = 0;  // GB/s
  std::string limit;
};

}  // namespace rondo::api

struct rondo_topology {
  rondo_topology(std::vector<rondo::Machine> descriptions, rondo::TopologyGraph made,
                 const rondo::GraphOptions& graph_options)
      : kinds(std::move(descriptions)), graph(std::move(made)), options(graph_options) {}
  rondo_topology(const rondo_topology&) = delete;
  rondo_topology& operator=(const rondo_topology&) = delete;

  static constexpr uint64_t kMark = 0x6f706f74646e6f72;
  uint64_t mark = kMark;
  std::vector<rondo::Machine> kinds;  // of hosts: equal ones have one description
  rondo::TopologyGraph graph;
  rondo::GraphOptions options;
  std::mutex mutex;  // guards what follows
  rondo::PathTable paths;
  // By whether they are of all links; limits only if these are not the usual ones anyway.
  std::map<std::tuple<rondo::CollectiveKind, int, bool>, rondo::BandwidthBound> limits;
  std::map<bool, rondo::api::FoundPlan> plans;
  std::map<bool, rondo::api::FoundRings> rings;
  std::vector<std::unique_ptr<const rondo::api::EvaluatedGraph>> graphs;  // in the order of being read
};

namespace rondo::api {

inline double gigabytes(int64_t kBps) { return static_cast<double>(kBps) / 1e6; }
inline double gigabytes(const Rational& kBps) { return kBps.approximate() / 1e6; }

inline Status check_topology(rondo_topology_t topology, const char* name = "topology") {
  if (topology == nullptr) return null_argument(name);
  if (topology->mark != rondo_topology::kMark)
    return error(ErrorKind::NoSuchHandle, "{}: not one, or freed", name);
  return {};
}

inline Status check_index(const char* name, int index, size_t count) {
  if (index >= 0 && static_cast<size_t>(index) < count) return {};
  if (count == 0) return error(Code::InvalidArgument, "{} is {}: there are none", name, index);
  return error(Code::InvalidArgument, "{} is {}: expected 0 to {}", name, index,
               static_cast<int64_t>(count) - 1);
}

/// The caller's struct may be of a later version of the header, and longer; never shorter than the first.
template <typename Struct>
Status check_struct(const char* name, const Struct* given, size_t least_bytes = sizeof(Struct)) {
  if (given == nullptr) return null_argument(name);
  if (given->size >= least_bytes) return {};
  return error(ErrorKind::StructSizeUnknown, "{}->size is {}: set it to sizeof(*{}), {} or more", name,
               given->size, name, sizeof(Struct));
}

/// As most functions of the header have it.
inline TopologyGraph usual_links(const rondo_topology& topology, int all_links) {
  return all_links != 0 ? topology.graph : fabric_or_all(topology.graph, topology.graph.gpus());
}

/// The index among the topology's links of each link of `some`, the same graph with the links of some
/// classes.
std::vector<int> link_indices(const rondo_topology& topology, const TopologyGraph& some);

/// The description that all hosts share, with the settings of the topology; Unsupported if they differ.
Result<Machine> machine_of(const rondo_topology& topology);

/// What rondo_topology_detect() finds: the description that a variable names or, with that of GPUs as
/// `options` has them, this host's; written to the file that another variable names.
Result<Machine> described_host(const DetectOptions& options);

/// The settings, or the defaults for NULL.
Result<rondo_topology_config_t> checked(const rondo_topology_config_t* config);

/// Makes a topology of hosts, of which each is of one of the kinds.
Status make_topology(rondo_topology_t* topology, std::vector<Machine> kinds,
                     std::span<const size_t> kind_of_host, const rondo_topology_config_t& config);

/// "-": to standard output.
Status write_text(const std::string& text, const char* path);

}  // namespace rondo::api
