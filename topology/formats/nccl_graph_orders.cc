// SPDX-License-Identifier: Apache-2.0
// Between NCCL's graphs, which number GPUs and ports of a host, and orders of ranks.
#include <algorithm>
#include <map>

#include "base/error_kinds.h"
#include "formats/nccl_graph.h"

namespace rondo {
namespace {

/// The way of a channel through every host.
struct PortStretch {
  std::vector<int64_t> devs;
  std::optional<int64_t> enters, leaves;  // ports
};

/// Out of a graph, for the machine.
class OrderReader {
 public:
  OrderReader(const NcclGraph& graph, const std::string& source, const TopologyGraph& topology,
              std::span<const int> gpus)
      : graph_(graph), source_(source) {
    for (size_t rank = 0; rank != gpus.size(); ++rank) {
      const TopologyNode& node = topology.node(gpus[rank]);
      ranks_[{node.host, node.dev}] = static_cast<int>(rank);
      if (std::ranges::find(hosts_, node.host) == hosts_.end()) hosts_.push_back(node.host);
    }
    for (const int nic : topology.nics())
      for (const int dev : topology.node(nic).port_devs)
        nics_.emplace(std::pair(topology.node(nic).host, dev), nic);
  }

  Result<NcclOrders> orders() const {
    if (graph_.pattern > kNcclRing) return unsupported("are not evaluated");
    NcclOrders orders{{}, graph_.pattern == kNcclRing ? OrderUse::Ring : OrderUse::ChainBothWays};
    for (const NcclChannel& channel : graph_.channels) {
      RONDO_TRY_ASSIGN(const PortStretch stretch, stretch_of(channel));
      RONDO_TRY_ASSIGN(RingChannel order, order_of(channel, stretch));
      if (orders.use != OrderUse::Ring && !order.nics.empty()) order.nics.pop_back();
      orders.channels.push_back(std::move(order));
    }
    return orders;
  }

  Result<std::vector<Star>> stars() const {
    if (graph_.pattern != kNcclNvls) return unsupported("have no heads");
    std::vector<Star> stars;
    for (const NcclChannel& channel : graph_.channels) {
      RONDO_TRY_ASSIGN(const PortStretch stretch, stretch_of(channel));
      if (stretch.devs.empty()) return wrong(channel, "<channel> has no <gpu>: expected its head");
      RONDO_TRY_ASSIGN(const int head, rank(channel, hosts_[0], stretch.devs[0]));
      stars.push_back({head, 1});
    }
    return stars;
  }

 private:
  Status unsupported(std::string_view why) const {
    return error(ErrorKind::FormatCannot, "{}:{}: {} graphs {}", source_, graph_.line,
                 nccl_pattern_name(graph_.pattern), why);
  }

  template <typename... Args>
  Status wrong(const NcclChannel& channel, fmt::format_string<Args...> format, Args&&... args) const {
    return error(ErrorKind::FileMalformed, "{}:{}: {}", source_, channel.line,
                 fmt::format(format, std::forward<Args>(args)...));
  }

  /// Ports come first and last.
  Result<PortStretch> stretch_of(const NcclChannel& channel) const {
    PortStretch stretch;
    for (size_t i = 0; i != channel.stops.size(); ++i) {
      const NcclStop& stop = channel.stops[i];
      if (!stop.is_port)
        stretch.devs.push_back(stop.dev);
      else if (i == 0)
        stretch.enters = stop.dev;
      else if (i + 1 == channel.stops.size())
        stretch.leaves = stop.dev;
      else
        return wrong(channel, "<net> between <gpu>: expected it first or last");
    }
    if (!stretch.leaves) stretch.leaves = stretch.enters;  // as in trees
    if (!stretch.enters) stretch.enters = stretch.leaves;
    return stretch;
  }

  Result<RingChannel> order_of(const NcclChannel& channel, const PortStretch& stretch) const {
    RingChannel order;
    order.kBps = graph_.channel_kBps(static_cast<int>(hosts_.size()));
    if (order.kBps == 0)
      return wrong(channel, "{} is 0: expected more than 0 GB/s",
                   graph_.intra_kBps == 0 ? "speedintra" : "speedinter");
    for (size_t host = 0; host != hosts_.size(); ++host) {
      for (const int64_t dev : stretch.devs) {
        RONDO_TRY_ASSIGN(const int next, rank(channel, hosts_[host], dev));
        order.order.push_back(next);
      }
      if (hosts_.size() == 1) break;
      if (!stretch.enters)
        return wrong(channel, "there is no <net>: expected one first and last, as the machine has {} hosts",
                     hosts_.size());
      RONDO_TRY_ASSIGN(const int leaves, nic(channel, hosts_[host], *stretch.leaves));
      RONDO_TRY_ASSIGN(const int enters, nic(channel, hosts_[(host + 1) % hosts_.size()], *stretch.enters));
      order.nics.push_back({leaves, enters});
    }
    return order;
  }

  Result<int> rank(const NcclChannel& channel, int host, int64_t dev) const {
    const auto found = ranks_.find({host, dev});
    if (found == ranks_.end()) return wrong(channel, "<gpu dev=\"{}\">: the machine has no such GPU", dev);
    return found->second;
  }

  Result<int> nic(const NcclChannel& channel, int host, int64_t dev) const {
    const auto found = nics_.find({host, dev});
    if (found == nics_.end()) return wrong(channel, "<net dev=\"{}\">: the machine has no such port", dev);
    return found->second;
  }

  const NcclGraph& graph_;
  const std::string& source_;
  std::vector<int> hosts_;                               // in the order of their first ranks
  std::map<std::pair<int, int64_t>, int> ranks_, nics_;  // by host and number
};

/// The worst class of the paths along a host's stretch.
struct WorstPaths {
  PathClass intra = PathClass::Loc;
  PathClass inter = PathClass::Pix;  // as NCCL has it without ports
};

/// Into a graph.
class GraphMaker {
 public:
  GraphMaker(const TopologyGraph& topology, std::span<const int> gpus)
      : topology_(topology), gpus_(gpus), paths_(topology) {}

  Result<NcclGraph> make(std::span<const RingChannel> channels) {
    NcclGraph graph;
    graph.intra_kBps = graph.inter_kBps = channels[0].kBps;
    WorstPaths worst;
    for (const RingChannel& channel : channels) {
      RONDO_TRY_ASSIGN(NcclChannel made, channel_of(channel, worst));
      graph.channels.push_back(std::move(made));
      const std::vector<NcclStop>& stops = graph.channels.back().stops;
      if (has_ports(channel) && stops.front() != stops.back()) graph.cross_nic = 1;
    }
    graph.intra = worst.intra;
    graph.inter = worst.inter;
    graph.same_channels = std::ranges::all_of(
        graph.channels, [&](const NcclChannel& channel) { return channel.stops == graph.channels[0].stops; });
    return graph;
  }

 private:
  static bool has_ports(const RingChannel& channel) { return !channel.nics.empty(); }
  int node(int rank) const { return gpus_[static_cast<size_t>(rank)]; }
  int host(int rank) const { return topology_.node(node(rank)).host; }

  Result<NcclChannel> channel_of(const RingChannel& channel, WorstPaths& worst) const {
    NcclChannel made;
    std::vector<int> stretch;  // of the first host
    for (const int rank : channel.order)
      if (host(rank) == host(channel.order[0])) stretch.push_back(node(rank));
    if (has_ports(channel)) {
      RONDO_TRY(add_port(channel.nics.back().enters, stretch.front(), made, worst));
    }
    for (size_t i = 0; i != stretch.size(); ++i) {
      made.stops.push_back({false, topology_.node(stretch[i]).dev});
      const bool is_last = i + 1 == stretch.size();
      if (is_last && has_ports(channel)) break;
      worst.intra = std::max(worst.intra, paths_.between(stretch[i], stretch[(i + 1) % stretch.size()]).cls);
    }
    if (has_ports(channel)) {
      RONDO_TRY(add_port(channel.nics.front().leaves, stretch.back(), made, worst));
    }
    return made;
  }

  Status add_port(int nic, int gpu, NcclChannel& made, WorstPaths& worst) const {
    const TopologyNode& node = topology_.node(nic);
    if (node.port_devs.empty() || node.port_devs[0] < 0)
      return error(ErrorKind::FormatCannot, "{} has no number, by which NCCL's graphs name ports", node.name)
          .as(Code::InvalidArgument);
    made.stops.push_back({true, node.port_devs[0]});
    worst.inter = std::max(worst.inter, paths_.between(gpu, nic).cls);
    return {};
  }

  const TopologyGraph& topology_;
  const std::span<const int> gpus_;
  const Paths paths_;
};

}  // namespace

Result<NcclOrders> orders_of(const NcclGraph& graph, const std::string& source, const TopologyGraph& topology,
                             std::span<const int> gpus) {
  return OrderReader(graph, source, topology, gpus).orders();
}

Result<std::vector<Star>> stars_of(const NcclGraph& graph, const std::string& source,
                                   const TopologyGraph& topology, std::span<const int> gpus) {
  return OrderReader(graph, source, topology, gpus).stars();
}

Result<NcclGraphs> nccl_graphs_of(const TopologyGraph& topology, std::span<const int> gpus,
                                  std::span<const RingChannel> channels) {
  if (channels.empty()) return error(Code::InvalidArgument, "no channels: NCCL's graphs need at least one");
  RONDO_TRY_ASSIGN(NcclGraph graph, GraphMaker(topology, gpus).make(channels));
  return NcclGraphs{"", {std::move(graph)}, {}};
}

}  // namespace rondo
