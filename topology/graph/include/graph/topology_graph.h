// SPDX-License-Identifier: Apache-2.0
// TopologyGraph: the links of one host or several, with their bandwidths: what paths, bounds, plans, the
// simulator and pictures are computed on. Built once from Machines, immutable afterwards; any thread.
//
// GPUs, NUMA nodes, PCI switches, NVSwitches, NICs and networks are nodes. A link has a direction: what is
// joined both ways has two. GPUs forward what they have received; the other nodes pass bytes on.
//
//   numa0 ==== numa1        socket
//     |          |
//   switch     switch       PCIe
//    |   |       |  |
//   gpu0 nic0  gpu1 nic1
//    '============'         NVLink
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/machine.h"

namespace rondo {

enum class NodeKind : uint8_t { Gpu, Numa, PciSwitch, NvSwitch, Nic, Network };

enum class LinkClass : uint8_t { NvLink, Xgmi, C2C, Pcie, Socket, Network };

/// "NVLink", "PCIe", ...
const char* link_class_name(LinkClass cls);

/// Whether links of the class join GPUs without a PCI tree.
constexpr bool is_fabric(LinkClass cls) { return cls == LinkClass::NvLink || cls == LinkClass::Xgmi; }

struct TopologyNode {
  NodeKind kind = NodeKind::Gpu;
  int host = 0;
  std::string
      name;  // unique: "gpu0", "numa1", "switch 0000:0c:00.0", "nic mlx5_0"; if several hosts: "host1/gpu0"
  std::string bus_id;          // empty: not a PCI function
  int dev = -1;                // of a GPU: its number on its host
  int rank = -1;               // of a GPU: as GpuInfo has it
  bool combines = false;       // of an NVSwitch: sums what GPUs send, and copies to several of them (NVLS)
  std::vector<int> port_devs;  // of a NIC: the numbers of its ports on its host; -1: unknown
};

struct TopologyLink {
  int from = 0;  // nodes
  int to = 0;
  LinkClass cls = LinkClass::Pcie;
  int count = 1;     // physical links; of PCIe: lanes
  int64_t kBps = 0;  // kilobytes (1,000 bytes) per second, of all together: every speed in use is whole in it
};

struct GraphOptions {
  /// Whether GPUs below one PCI switch reach one another there. If not, everything that enters a switch from
  /// below goes up to the CPU, and Intel's CPUs pass on 5/6 of what PCIe carries, as NCCL has it. Not set: as
  /// the Machine says; if it does not, they do.
  std::optional<bool> p2p_below_switches;
};

class TopologyGraph {
 public:
  /// The graph of hosts whose network ports are joined, those of a plane by a switch that never blocks.
  /// InvalidArgument, with file and line, if a description contradicts itself.
  static Result<TopologyGraph> build(std::span<const Machine> hosts, const GraphOptions& options = {});
  /// The same of hosts each of which is one of the kinds.
  static Result<TopologyGraph> build(std::span<const Machine> kinds, std::span<const size_t> kind_of_host,
                                     const GraphOptions& options);
  static Result<TopologyGraph> build(const Machine& host, const GraphOptions& options = {});

  std::span<const TopologyNode> nodes() const { return nodes_; }
  std::span<const TopologyLink> links() const { return links_; }
  const TopologyNode& node(int index) const { return nodes_[static_cast<size_t>(index)]; }
  const TopologyLink& link(int index) const { return links_[static_cast<size_t>(index)]; }

  /// Nodes of a kind, ascending; GPUs by host, then by dev.
  std::span<const int> gpus() const { return gpus_; }
  std::span<const int> nics() const { return nics_; }
  int hosts() const { return hosts_; }

  /// Links that leave a node, ascending by their index.
  std::span<const int> links_from(int node) const;

  /// What was left out or guessed when the graph was built, each a sentence with file and line.
  std::span<const std::string> repairs() const { return repairs_; }

  /// The same nodes with the links that `keep` accepts.
  template <typename Keep>
  TopologyGraph filtered(Keep keep) const {
    std::vector<TopologyLink> kept;
    for (const TopologyLink& link : links_)
      if (keep(link)) kept.push_back(link);
    return TopologyGraph(nodes_, std::move(kept), repairs_);
  }

  /// The same nodes with every link turned around; links keep their indices.
  TopologyGraph reversed() const;

  /// From nodes and links as they are, for graphs that no machine has. Links refer to nodes; kBps > 0.
  TopologyGraph(std::vector<TopologyNode> nodes, std::vector<TopologyLink> links,
                std::vector<std::string> repairs = {});

 private:
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyLink> links_;
  std::vector<int> gpus_, nics_;
  int hosts_ = 0;
  std::vector<int> leaving_, first_leaving_;  // links by the node they leave
  std::vector<std::string> repairs_;
};

}  // namespace rondo
