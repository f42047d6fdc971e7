// SPDX-License-Identifier: Apache-2.0
// The result of NCCL's search in XML, as NCCL_GRAPH_DUMP_FILE writes it and NCCL_GRAPH_FILE is read: for each
// kind of algorithm the channels of a host, with the order of its GPUs and the ports by which data enters and
// leaves. Files may come from strangers. Plain data, and pure functions: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/machine.h"
#include "graph/paths.h"
#include "graph/topology_graph.h"
#include "search/ring_load.h"
#include "search/rings.h"
#include "search/stars.h"

namespace rondo {

/// A GPU or a port, by its number on its host.
struct NcclStop {
  bool is_port = false;
  int64_t dev = 0;
  friend bool operator==(const NcclStop&, const NcclStop&) = default;
};

struct NcclChannel {
  std::vector<NcclStop> stops;
  Attributes extra;
  int line = 0;  // of the file; 0: none
};

/// Numbers of NcclGraph::pattern.
enum NcclPattern : int {
  kNcclBalancedTree = 1,
  kNcclSplitTree = 2,
  kNcclTree = 3,
  kNcclRing = 4,
  kNcclNvls = 5,
  kNcclCollnet = 6,
};

/// "ring", "balanced tree", ...
std::string_view nccl_pattern_name(int pattern);

struct NcclGraph {
  int id = 0;  // NCCL: 0 rings, 1 trees, 2 collnet chain, 3 NVLS, 4 collnet direct; older ones differ
  int pattern = kNcclRing;
  int cross_nic = 0;
  int64_t intra_kBps = 0;  // of each channel on the host
  int64_t inter_kBps = 0;  // and between hosts
  PathClass intra = PathClass::Loc;
  PathClass inter = PathClass::Loc;
  bool same_channels = false;
  std::vector<NcclChannel> channels;
  Attributes extra;  // latencyinter, and what is not known
  int line = 0;

  /// Of each channel, on this number of hosts.
  int64_t channel_kBps(int hosts) const { return hosts > 1 ? std::min(intra_kBps, inter_kBps) : intra_kBps; }
};

struct NcclGraphs {
  std::string source;  // the name of the file, in front of what is said about it
  std::vector<NcclGraph> graphs;
  Attributes extra;
};

/// `source` is the name of the text in errors. InvalidArgument, with source, line and what was expected, if
/// it is not such a file.
Result<NcclGraphs> nccl_graphs_from_xml(std::string_view text, std::string source);
Result<NcclGraphs> nccl_graphs_from_xml_file(const std::string& path);

/// The same in that format, as NCCL writes it. Reading this gives the same graphs.
std::string nccl_graph_xml(const NcclGraphs& graphs);

/// Orders of GPUs out of a graph, and how data moves along them.
struct NcclOrders {
  std::vector<RingChannel> channels;
  OrderUse use = OrderUse::Ring;
};

/// The channels of rings and trees on a machine. If it has several hosts, every host has these channels, and
/// data leaves one for the next. Trees are chains on a host, as NCCL has them. Unsupported for other
/// patterns; InvalidArgument, with line, if there is no such GPU or port.
Result<NcclOrders> orders_of(const NcclGraph& graph, const std::string& source, const TopologyGraph& topology,
                             std::span<const int> gpus);

/// The heads of an NVLS graph, of which every channel has one: equal shares. Errors as above.
Result<std::vector<Star>> stars_of(const NcclGraph& graph, const std::string& source,
                                   const TopologyGraph& topology, std::span<const int> gpus);

/// The stretch of rings on the host of rank 0, as NCCL's graph 0. Channels are of one speed and at least one;
/// InvalidArgument if a port that they use has no number.
Result<NcclGraphs> nccl_graphs_of(const TopologyGraph& topology, std::span<const int> gpus,
                                  std::span<const RingChannel> channels);

}  // namespace rondo
