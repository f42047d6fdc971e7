// SPDX-License-Identifier: Apache-2.0
// The C API's rings of topologies, and NCCL's graphs.
#include <algorithm>
#include <iterator>

#include "formats/nccl_graph.h"
#include "search/equal_channels.h"
#include "search/find_rings.h"
#include "search/ring_legs.h"
#include "search/ring_load.h"
#include "search/stars.h"
#include "topology_handle.h"

namespace {

using namespace rondo;
using api::guarded;

constexpr int kMaxNcclChannels = 32;  // NCCL doubles them for its trees, and has 64 at most

Status check_has_gpus(const rondo_topology& topology) {
  if (topology.graph.gpus().empty()) return error(Code::InvalidArgument, "topology: it has no GPUs");
  return {};
}

/// GPUs in order, with the NICs between those of different hosts.
std::vector<int> nodes_of(const TopologyGraph& graph, const RingPlan& plan, const RingChannel& channel) {
  std::vector<int> nodes;
  const auto gpu = [&](size_t i) {
    return plan.gpus[static_cast<size_t>(channel.order[i % channel.order.size()])];
  };
  auto nics = channel.nics.begin();
  for (size_t i = 0; i != channel.order.size(); ++i) {
    nodes.push_back(gpu(i));
    if (graph.node(gpu(i)).host == graph.node(gpu(i + 1)).host) continue;
    nodes.insert(nodes.end(), {nics->leaves, nics->enters});
    ++nics;
  }
  return nodes;
}

/// The caller holds the mutex.
Result<api::FoundRings*> rings_of(rondo_topology& topology, int all_links) {
  const auto known = topology.rings.find(all_links != 0);
  if (known != topology.rings.end()) return &known->second;
  RONDO_TRY(check_has_gpus(topology));
  const TopologyGraph links = api::usual_links(topology, all_links);
  RONDO_TRY_ASSIGN(RingPlan plan, find_rings(links, links.gpus()));
  std::vector<std::vector<int>> nodes;
  for (const RingChannel& channel : plan.channels) nodes.push_back(nodes_of(links, plan, channel));
  const auto added =
      topology.rings.emplace(all_links != 0, api::FoundRings{std::move(plan), std::move(nodes)});
  return &added.first->second;
}

void add_hops(const RingLeg& leg, int channel, int64_t kBps, const std::vector<int>& links,
              std::vector<rondo_topology_ring_hop_t>& hops) {
  for (const Hop& side_by_side : leg.hops) {
    const int64_t shares = sum_of_shares(side_by_side);
    for (const LinkShare& share : side_by_side) {
      const double part = static_cast<double>(share.share) / static_cast<double>(shares);
      hops.push_back({sizeof(rondo_topology_ring_hop_t), channel, leg.from, leg.to,
                      links[static_cast<size_t>(share.link)], api::gigabytes(kBps) * part});
    }
  }
}

/// The caller holds the mutex.
Result<const std::vector<rondo_topology_ring_hop_t>*> hops_of(rondo_topology& topology, int all_links) {
  RONDO_TRY_ASSIGN(api::FoundRings* const found, rings_of(topology, all_links));
  if (found->hops) return &*found->hops;
  const TopologyGraph some = api::usual_links(topology, all_links);
  const std::vector<int> links = api::link_indices(topology, some);
  const RingLegs legs(some, found->plan.gpus);
  std::vector<rondo_topology_ring_hop_t> hops;
  int index = 0;
  for (const RingChannel& channel : found->plan.channels) {
    RONDO_TRY_ASSIGN(const std::vector<RingLeg> of_channel, legs.of(channel));
    for (const RingLeg& leg : of_channel) add_hops(leg, index, channel.kBps, links, hops);
    ++index;
  }
  return &found->hops.emplace(std::move(hops));
}

std::string describe_busiest(const TopologyGraph& graph, const RingLoad& load) {
  const TopologyLink& link = graph.link(load.busiest[0]);
  std::string text =
      fmt::format("{} from {} to {}, {:.1f} GB/s", link_class_name(link.cls), graph.node(link.from).name,
                  graph.node(link.to).name, api::gigabytes(link.kBps));
  if (load.busiest.size() > 1)
    text += fmt::format(", and {} more link{}", load.busiest.size() - 1, load.busiest.size() == 2 ? "" : "s");
  return text;
}

struct Evaluation {
  Rational bus_kBps;
  std::string limit;
};

Result<Evaluation> evaluated_orders(const NcclGraph& graph, const std::string& source,
                                    const TopologyGraph& links) {
  RONDO_TRY_ASSIGN(const NcclOrders orders, orders_of(graph, source, links, links.gpus()));
  const auto load = ring_load(links, links.gpus(), orders.channels, orders.use);
  if (!load.ok()) return load.status().within(fmt::format("{}:{}", source, graph.line));
  return Evaluation{load.value().bus_kBps, describe_busiest(links, load.value())};
}

Result<Evaluation> evaluated_stars(const NcclGraph& graph, const std::string& source,
                                   const TopologyGraph& links) {
  RONDO_TRY_ASSIGN(std::vector<Star> stars, stars_of(graph, source, links, links.gpus()));
  RONDO_TRY_ASSIGN(const StarPlan plan, star_plan(links, links.gpus(), std::move(stars)));
  const int narrowest = links.gpus()[static_cast<size_t>(plan.narrowest)];
  return Evaluation{plan.bus_kBps, fmt::format("the NVLinks of {} (a model)", links.node(narrowest).name)};
}

Result<api::EvaluatedGraph> evaluated(const NcclGraph& graph, const std::string& source,
                                      const TopologyGraph& links) {
  api::EvaluatedGraph result;
  result.id = graph.id;
  result.pattern = nccl_pattern_name(graph.pattern);
  result.channels = static_cast<int>(graph.channels.size());
  result.stated = api::gigabytes(graph.channel_kBps(links.hosts())) * result.channels;
  if (graph.channels.empty()) {
    result.limit = "it has no channels";
    return result;
  }
  auto evaluation = graph.pattern == kNcclNvls ? evaluated_stars(graph, source, links)
                                               : evaluated_orders(graph, source, links);
  if (evaluation.ok()) {
    result.bandwidth = api::gigabytes(evaluation.value().bus_kBps);
    result.limit = std::move(evaluation.value().limit);
  } else if (evaluation.status().code() == Code::Unsupported) {
    result.limit = evaluation.status().message();
  } else {
    return evaluation.status();
  }
  return result;
}

}  // namespace

rondo_status_t rondo_topology_rings(rondo_topology_t topology, int all_links, rondo_topology_rings_t* rings) {
  return guarded("rondo_topology_rings", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_topology(topology));
    RONDO_TRY(api::check_struct("rings", rings));
    const std::lock_guard lock(topology->mutex);
    RONDO_TRY_ASSIGN(const api::FoundRings* const found, rings_of(*topology, all_links));
    rings->bandwidth = api::gigabytes(found->plan.bus_kBps);
    rings->ceiling = api::gigabytes(found->plan.bound_kBps);
    rings->channels = static_cast<int>(found->plan.channels.size());
    rings->optimal = found->plan.is_optimal ? 1 : 0;
    return {};
  });
}

rondo_status_t rondo_topology_ring(rondo_topology_t topology, int all_links, int index,
                                   rondo_topology_ring_t* ring) {
  return guarded("rondo_topology_ring", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_topology(topology));
    RONDO_TRY(api::check_struct("ring", ring));
    const std::lock_guard lock(topology->mutex);
    RONDO_TRY_ASSIGN(const api::FoundRings* const found, rings_of(*topology, all_links));
    RONDO_TRY(api::check_index("index", index, found->nodes.size()));
    const std::vector<int>& nodes = found->nodes[static_cast<size_t>(index)];
    ring->bandwidth = api::gigabytes(found->plan.channels[static_cast<size_t>(index)].kBps);
    ring->nodes = nodes.data();
    ring->length = static_cast<int>(nodes.size());
    return {};
  });
}

rondo_status_t rondo_topology_ring_hop(rondo_topology_t topology, int all_links, int index,
                                       rondo_topology_ring_hop_t* hop) {
  return guarded("rondo_topology_ring_hop", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_topology(topology));
    RONDO_TRY(api::check_struct("hop", hop));
    const std::lock_guard lock(topology->mutex);
    RONDO_TRY_ASSIGN(const std::vector<rondo_topology_ring_hop_t>* const hops, hops_of(*topology, all_links));
    const size_t size = hop->size;
    const bool exists = index >= 0 && static_cast<size_t>(index) < hops->size();
    *hop = exists ? (*hops)[static_cast<size_t>(index)] : rondo_topology_ring_hop_t{size, -1, -1, -1, -1, 0};
    hop->size = size;
    return {};
  });
}

rondo_status_t rondo_topology_save_graph(rondo_topology_t topology, int all_links, const char* path) {
  return guarded("rondo_topology_save_graph", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_topology(topology));
    if (path == nullptr) return api::null_argument("path");
    std::vector<RingChannel> channels;
    {
      const std::lock_guard lock(topology->mutex);
      RONDO_TRY_ASSIGN(const api::FoundRings* const found, rings_of(*topology, all_links));
      channels = found->plan.channels;
    }
    const TopologyGraph links = api::usual_links(*topology, all_links);
    channels = equal_channels(channels, kMaxNcclChannels, usual_channel_kBps(links));
    RONDO_TRY_ASSIGN(const NcclGraphs graphs, nccl_graphs_of(links, links.gpus(), channels));
    return api::write_text(nccl_graph_xml(graphs), path);
  });
}

rondo_status_t rondo_topology_load_graphs(rondo_topology_t topology, const char* path, int all_links,
                                          int* first, int* count) {
  return guarded("rondo_topology_load_graphs", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_topology(topology));
    if (path == nullptr) return api::null_argument("path");
    if (first == nullptr) return api::null_argument("first");
    if (count == nullptr) return api::null_argument("count");
    RONDO_TRY(check_has_gpus(*topology));
    RONDO_TRY_ASSIGN(const NcclGraphs graphs, nccl_graphs_from_xml_file(path));
    const TopologyGraph links = api::usual_links(*topology, all_links);
    std::vector<std::unique_ptr<const api::EvaluatedGraph>> added;
    for (const NcclGraph& graph : graphs.graphs) {
      RONDO_TRY_ASSIGN(api::EvaluatedGraph result, evaluated(graph, graphs.source, links));
      added.push_back(std::make_unique<const api::EvaluatedGraph>(std::move(result)));
    }
    const std::lock_guard lock(topology->mutex);
    *first = static_cast<int>(topology->graphs.size());
    *count = static_cast<int>(added.size());
    std::ranges::move(added, std::back_inserter(topology->graphs));
    return {};
  });
}

rondo_status_t rondo_topology_graph(rondo_topology_t topology, int index, rondo_topology_graph_t* graph) {
  return guarded("rondo_topology_graph", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_topology(topology));
    RONDO_TRY(api::check_struct("graph", graph));
    const std::lock_guard lock(topology->mutex);
    RONDO_TRY(api::check_index("index", index, topology->graphs.size()));
    const api::EvaluatedGraph& known = *topology->graphs[static_cast<size_t>(index)];
    graph->id = known.id;
    graph->pattern = known.pattern.data();
    graph->channels = known.channels;
    graph->stated = known.stated;
    graph->bandwidth = known.bandwidth;
    graph->limit = known.limit.c_str();
    return {};
  });
}
