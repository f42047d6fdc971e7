// SPDX-License-Identifier: Apache-2.0
// From Machines to a TopologyGraph: which nodes there are, and what joins them at which speed.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error_kinds.h"
#include "graph/link_speeds.h"
#include "graph/topology_graph.h"

namespace rondo {
namespace {

constexpr ptrdiff_t kMaxGpus = 1024;             // of all hosts
constexpr size_t kMaxLinks = 50'000;             // of all hosts; limits take a second
constexpr size_t kMaxPaths = 800'000;            // from the GPUs of a host; limits take a second
constexpr size_t kMaxAllPaths = 5'000'000;       // from all GPUs; a table of them takes 64 MiB
constexpr int64_t kOnChip_kBps = 5'000'000'000;  // from a CPU to interfaces that are software; as NCCL's LOC

bool is_bridge(const PciDevice& device) {
  return device.pci_class.starts_with("0x0604") || !device.below.empty();
}

/// Whether a GPU or a network interface is here or below.
bool leads_somewhere(const PciDevice& device) {
  return device.gpu || !device.ports.empty() || std::ranges::any_of(device.below, leads_somewhere);
}

/// A PCI switch whose GPUs cannot reach one another below it has two nodes, so that nothing turns around in
/// it.
struct SwitchEnds {
  int up = 0;    // receives what comes from below
  int down = 0;  // sends to what is below
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const GraphOptions& options, bool several_hosts)
      : options_(options), several_hosts_(several_hosts) {}

  Status add_host(const Machine& machine, int host) {
    machine_ = &machine;
    host_ = host;
    gpu_nodes_.clear();
    bus_ids_.clear();
    port_names_.clear();
    nvswitches_combine_ = true;
    p2p_ = options_.p2p_below_switches.value_or(machine.p2p_below_switches.value_or(true));
    for (const std::string& known : machine.repairs) add_repair(known);
    const size_t others = nodes_.size();
    std::vector<int> numa_nodes;
    for (const NumaNode& numa : machine.numa) {
      RONDO_TRY_ASSIGN(const int node, add_numa(numa));
      numa_nodes.push_back(node);
    }
    join_sockets(numa_nodes);
    RONDO_TRY(check_devs());
    RONDO_TRY(check_size(nodes_.size() - others));
    for (const auto& [bus_id, gpu] : gpu_nodes_) add_fabric(gpu);
    add_nvswitches();
    report_one_way_links();
    return check_all_hosts();
  }

  TopologyGraph take() { return {std::move(nodes_), std::move(links_), std::move(repairs_)}; }

 private:
  struct GpuNode {
    int node;
    int numa;
    const GpuInfo* info;
  };

  /// `devices`: nodes of this host, GPUs included.
  Status check_size(size_t devices) const {
    const std::string& source = machine_->source;
    if (std::ranges::count(nodes_, NodeKind::Gpu, &TopologyNode::kind) > kMaxGpus)
      return error(ErrorKind::MachineTooLarge, "{}: with this host there are more than {} GPUs", source,
                   kMaxGpus);
    if (gpu_nodes_.size() > kMaxGpusOfHost)
      return error(ErrorKind::MachineTooLarge, "{}: more than {} GPUs on a host", source, kMaxGpusOfHost);
    if (gpu_nodes_.size() * devices > kMaxPaths)
      return error(ErrorKind::MachineTooLarge,
                   "{}: {} GPUs among {} devices: expected at most {} paths from a GPU", source,
                   gpu_nodes_.size(), devices, kMaxPaths);
    return {};
  }

  Status check_all_hosts() const {
    const auto gpus = static_cast<size_t>(std::ranges::count(nodes_, NodeKind::Gpu, &TopologyNode::kind));
    if (links_.size() > kMaxLinks)
      return error(ErrorKind::MachineTooLarge, "{}: {} hosts have {} links: expected at most {}",
                   machine_->source, host_ + 1, links_.size(), kMaxLinks);
    if (gpus * nodes_.size() > kMaxAllPaths)
      return error(ErrorKind::MachineTooLarge,
                   "{}: {} hosts have {} GPUs among {} devices: expected at most {} paths from a GPU",
                   machine_->source, host_ + 1, gpus, nodes_.size(), kMaxAllPaths);
    return {};
  }

  struct Width {
    int count = 0;
    int64_t kBps = 0;
  };
  using GpuWidths = std::map<int, Width>;

  std::string named(const std::string& name) const {
    return several_hosts_ ? fmt::format("host{}/{}", host_, name) : name;
  }

  int add_node(NodeKind kind, std::string name, const std::string& bus_id = {}) {
    TopologyNode node;
    node.kind = kind;
    node.host = host_;
    node.name = std::move(name);
    node.bus_id = bus_id;
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  void add_link(int from, int to, LinkClass cls, int count, int64_t kBps) {
    links_.push_back({from, to, cls, count, kBps});
  }

  void join(int a, int b, LinkClass cls, int count, int64_t kBps) {
    add_link(a, b, cls, count, kBps);
    add_link(b, a, cls, count, kBps);
  }

  template <typename... Args>
  void repair(int line, fmt::format_string<Args...> format, Args&&... args) {
    add_repair(place(*machine_, line) + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  /// Once, if equal hosts have it.
  void add_repair(const std::string& text) {
    if (repairs_of_any_.insert(text).second) repairs_.push_back(text);
  }

  template <typename... Args>
  Status contradiction(int line, fmt::format_string<Args...> format, Args&&... args) const {
    return Status(ErrorKind::FileMalformed,
                  place(*machine_, line) + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  Result<int> add_numa(const NumaNode& numa) {
    const std::string name = named(fmt::format("numa{}", numa.id));
    if (std::ranges::any_of(nodes_, [&](const TopologyNode& node) { return node.name == name; }))
      return contradiction(numa.line, "NUMA node {} is described twice", numa.id);
    const int node = add_node(NodeKind::Numa, name);
    const bool overhead = !p2p_ && has_p2p_overhead(numa);
    for (const PciDevice& device : numa.devices) RONDO_TRY(add_device(device, node, {node, node}, overhead));
    for (const NetPort& port : numa.ports) add_nic({&port, 1}, {}, {node, node}, kOnChip_kBps, 1);
    return node;
  }

  Status add_device(const PciDevice& device, int numa_node, SwitchEnds above, bool overhead) {
    if (!leads_somewhere(device)) return {};
    const auto [first, is_new] = bus_ids_.emplace(device.bus_id, device.line);
    if (!is_new)
      return contradiction(device.line, "the bus id {} is also that of line {}", device.bus_id,
                           first->second);
    int64_t kBps = speed_of(device);
    if (overhead) kBps = kBps * 5 / 6;
    const int lanes = pcie_lanes(device.link_width);
    if (device.gpu) {
      const int gpu = add_gpu(*device.gpu, device.bus_id, numa_node);
      add_link(gpu, above.up, LinkClass::Pcie, lanes, kBps);
      add_link(above.down, gpu, LinkClass::Pcie, lanes, kBps);
    } else if (!device.ports.empty()) {
      add_nic(device.ports, device.bus_id, above, kBps, lanes);
    }
    if (device.below.empty()) return {};
    const SwitchEnds here = device.gpu || !is_bridge(device) ? above : add_switch(device, above, lanes, kBps);
    for (const PciDevice& below : device.below) RONDO_TRY(add_device(below, numa_node, here, false));
    return {};
  }

  int64_t speed_of(const PciDevice& device) {
    const auto kBps = pcie_kBps(device.link_speed, device.link_width);
    const int64_t guess = *pcie_kBps("", device.link_width);
    if (!kBps)
      repair(device.line,
             "'{}' is not a speed of PCIe, such as '16.0 GT/s PCIe'; {} is taken to have {} GB/s",
             device.link_speed.substr(0, 64), device.bus_id, gigabytes(guess));
    else if (device.link_speed.empty() || device.link_width <= 0)
      repair(device.line, "the speed of the PCIe link of {} is not known: taken to be {} GB/s", device.bus_id,
             gigabytes(*kBps));
    return kBps.value_or(guess);
  }

  static double gigabytes(int64_t kBps) { return static_cast<double>(kBps) / 1e6; }

  SwitchEnds add_switch(const PciDevice& device, SwitchEnds above, int lanes, int64_t kBps) {
    const std::string name = named("switch " + device.bus_id);
    const int up = add_node(NodeKind::PciSwitch, p2p_ ? name : name + " up", device.bus_id);
    const int down = p2p_ ? up : add_node(NodeKind::PciSwitch, name + " down", device.bus_id);
    add_link(up, above.up, LinkClass::Pcie, lanes, kBps);
    add_link(above.down, down, LinkClass::Pcie, lanes, kBps);
    return {up, down};
  }

  int add_gpu(const GpuInfo& info, const std::string& bus_id, int numa_node) {
    const int dev = info.dev >= 0 ? info.dev : static_cast<int>(gpu_nodes_.size());
    const int node = add_node(NodeKind::Gpu, named(fmt::format("gpu{}", dev)), bus_id);
    nodes_.back().dev = dev;
    nodes_.back().rank = info.rank;
    gpu_nodes_.emplace(bus_id, GpuNode{node, numa_node, &info});
    return node;
  }

  void add_nic(std::span<const NetPort> ports, const std::string& bus_id, SwitchEnds above, int64_t kBps,
               int lanes) {
    std::vector<const NetPort*> added;
    for (const NetPort& port : ports) {
      if (port_names_.emplace(port.name, port.line).second)
        added.push_back(&port);
      else if (!bus_id.empty())  // NCCL lists interfaces without a PCI function below each NUMA node
        repair(port.line, "the port {} was described before, at line {}: left out", port.name,
               port_names_.at(port.name));
    }
    if (added.empty()) return;
    const int nic = add_node(NodeKind::Nic, named("nic " + added.front()->name), bus_id);
    for (const NetPort* port : added) nodes_.back().port_devs.push_back(port->dev);
    add_link(nic, above.up, LinkClass::Pcie, lanes, kBps);
    add_link(above.down, nic, LinkClass::Pcie, lanes, kBps);
    for (const NetPort* port : added) {
      int64_t speed_Mbps = port->speed_Mbps;
      if (speed_Mbps <= 0) {
        speed_Mbps = kUnknownPort_Mbps;
        repair(port->line, "the speed of port {} is not known: taken to be {} Mbit/s", port->name,
               speed_Mbps);
      }
      join(nic, network(port->plane), LinkClass::Network, 1, port_kBps(speed_Mbps));
    }
  }

  int network(int plane) {
    const auto [known, is_new] = networks_.emplace(plane, 0);
    if (is_new) {
      known->second =
          add_node(NodeKind::Network, plane < 0 ? std::string("network") : fmt::format("network{}", plane));
      nodes_.back().host = 0;
    }
    return known->second;
  }

  void join_sockets(std::span<const int> numa_nodes) {
    for (size_t a = 0; a != numa_nodes.size(); ++a)
      for (size_t b = a + 1; b != numa_nodes.size(); ++b)
        join(numa_nodes[a], numa_nodes[b], LinkClass::Socket, 1,
             std::min(socket_kBps(machine_->numa[a]), socket_kBps(machine_->numa[b])));
  }

  Status check_devs() const {
    std::map<int, const GpuNode*> seen;
    for (const auto& [bus_id, gpu] : gpu_nodes_) {
      const auto [other, is_new] = seen.emplace(nodes_[static_cast<size_t>(gpu.node)].dev, &gpu);
      if (!is_new)
        return contradiction(gpu.info->line, "GPU {} is described twice; the other is at line {}",
                             other->first, other->second->info->line);
    }
    return {};
  }

  void add_fabric(const GpuNode& gpu) {
    for (const FabricLinks& links : gpu.info->links) {
      const int64_t kBps = links.count * fabric_kBps(*gpu.info, links);
      switch (links.target) {
        case FabricTarget::Gpu: add_gpu_links(gpu, links, kBps); break;
        case FabricTarget::NvSwitch: {
          Width& width = nvswitches_[links.target_bus_id][gpu.node];
          width = {width.count + links.count, width.kBps + kBps};
          nvswitches_combine_ &= nvswitches_combine(gpu.info->sm);
          break;
        }
        case FabricTarget::Cpu:
          join(gpu.node, gpu.numa, links.kind == FabricKind::C2C ? LinkClass::C2C : LinkClass::NvLink,
               links.count, kBps);
          break;
      }
    }
  }

  static int64_t fabric_kBps(const GpuInfo& gpu, const FabricLinks& links) {
    if (links.link_MBps > 0) return links.link_MBps * 1000;
    return links.kind == FabricKind::Xgmi ? xgmi_kBps(gpu.gfx) : nvlink_kBps(gpu.sm);
  }

  void add_gpu_links(const GpuNode& gpu, const FabricLinks& links, int64_t kBps) {
    const auto other = gpu_nodes_.find(links.target_bus_id);
    const std::string& name = nodes_[static_cast<size_t>(gpu.node)].name;
    if (other == gpu_nodes_.end()) {
      repair(links.line, "{} has links to {}, which is not a GPU of this description: left out", name,
             links.target_bus_id);
    } else if (other->second.node == gpu.node) {
      repair(links.line, "{} has links to itself: left out", name);
    } else {
      const LinkClass cls = links.kind == FabricKind::Xgmi ? LinkClass::Xgmi : LinkClass::NvLink;
      add_link(gpu.node, other->second.node, cls, links.count, kBps);
      directions_[{gpu.node, other->second.node}].count += links.count;
      directions_[{gpu.node, other->second.node}].line = links.line;
    }
  }

  /// Switches that divide every GPU's links in the same proportion act as one: whatever fits one of the size
  /// of all fits them, divided in that proportion. Such switches get one node, of the name of the first.
  void add_nvswitches() {
    std::map<std::vector<std::pair<int, int64_t>>, std::map<std::string, GpuWidths>> alike;
    for (const auto& [bus_id, widths] : nvswitches_) alike[proportions(widths)][bus_id] = widths;
    nvswitches_.clear();
    for (const auto& [key, switches] : alike) {
      GpuWidths sum;
      for (const auto& [bus_id, widths] : switches)
        for (const auto& [gpu, width] : widths)
          sum[gpu] = {sum[gpu].count + width.count, sum[gpu].kBps + width.kBps};
      const std::string& bus_id = switches.begin()->first;
      const int node =
          add_node(NodeKind::NvSwitch, named(alike.size() == 1 ? "nvswitch" : "nvswitch " + bus_id), bus_id);
      nodes_.back().combines = nvswitches_combine_;
      for (const auto& [gpu, width] : sum) join(gpu, node, LinkClass::NvLink, width.count, width.kBps);
    }
  }

  /// Bandwidths in lowest terms.
  static std::vector<std::pair<int, int64_t>> proportions(const GpuWidths& widths) {
    int64_t common = 0;
    for (const auto& [gpu, width] : widths) common = std::gcd(common, width.kBps);
    std::vector<std::pair<int, int64_t>> result;
    for (const auto& [gpu, width] : widths) result.emplace_back(gpu, width.kBps / common);
    return result;
  }

  /// Links have two directions. A description that has fewer one way keeps what it says: it may be a fault.
  void report_one_way_links() {
    for (const auto& [ends, there] : directions_) {
      const auto back = directions_.find({ends.second, ends.first});
      const int count = back == directions_.end() ? 0 : back->second.count;
      if (count < there.count)
        repair(there.line, "{} has {} links to {}, which has {} back: taken as described",
               nodes_[static_cast<size_t>(ends.first)].name, there.count,
               nodes_[static_cast<size_t>(ends.second)].name, count);
    }
    directions_.clear();
  }

  static constexpr int64_t kUnknownPort_Mbps = 10'000;  // as NCCL takes a port without a speed

  struct Direction {
    int count = 0;
    int line = 0;
  };

  const GraphOptions& options_;
  const bool several_hosts_;
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyLink> links_;
  std::vector<std::string> repairs_;
  std::set<std::string> repairs_of_any_;
  std::map<int, int> networks_;  // by plane

  // Of the host that is being added:
  const Machine* machine_ = nullptr;
  int host_ = 0;
  bool p2p_ = true;
  std::map<std::string, GpuNode> gpu_nodes_;     // by bus id
  std::map<std::string, int> bus_ids_;           // lines
  std::map<std::string, int> port_names_;        // lines
  std::map<std::string, GpuWidths> nvswitches_;  // by bus id
  bool nvswitches_combine_ = true;               // as far as the generations of their GPUs tell
  std::map<std::pair<int, int>, Direction> directions_;
};

}  // namespace

Result<TopologyGraph> TopologyGraph::build(std::span<const Machine> kinds,
                                           std::span<const size_t> kind_of_host,
                                           const GraphOptions& options) {
  GraphBuilder builder(options, kind_of_host.size() > 1);
  int host = 0;
  for (const size_t kind : kind_of_host) RONDO_TRY(builder.add_host(kinds[kind], host++));
  return builder.take();
}

Result<TopologyGraph> TopologyGraph::build(std::span<const Machine> hosts, const GraphOptions& options) {
  std::vector<size_t> kind_of_host(hosts.size());
  std::iota(kind_of_host.begin(), kind_of_host.end(), size_t{0});
  return build(hosts, kind_of_host, options);
}

Result<TopologyGraph> TopologyGraph::build(const Machine& host, const GraphOptions& options) {
  return build(std::span(&host, 1), options);
}

}  // namespace rondo
