// SPDX-License-Identifier: Apache-2.0
// The C API's topologies.
#include "rondo/topology.h"

#include <cerrno>
#include <cstdio>

#include "base/error_kinds.h"
#include "base/settings.h"
#include "formats/nccl_xml.h"
#include "graph/known_machines.h"
#include "this_host/described_host.h"
#include "topology_handle.h"

namespace {

using namespace rondo;
using api::check_index;
using api::check_struct;
using api::check_topology;
using api::gigabytes;
using api::guarded;

constexpr int kMaxHosts = 64;

const char* kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::Gpu: return "GPU";
    case NodeKind::Numa: return "NUMA";
    case NodeKind::PciSwitch: return "PCI switch";
    case NodeKind::NvSwitch: return "NVSwitch";
    case NodeKind::Nic: return "NIC";
    case NodeKind::Network: return "network";
  }
  return "?";
}

constexpr rondo_topology_config_t kDefaults = RONDO_TOPOLOGY_CONFIG_INITIALIZER;

Status make(rondo_topology_t* topology, Result<Machine> machine, const rondo_topology_config_t& config) {
  RONDO_TRY(machine.status());
  return api::make_topology(topology, {machine.take()},
                            std::vector<size_t>(static_cast<size_t>(config.hosts)), config);
}

}  // namespace

Result<rondo_topology_config_t> rondo::api::checked(const rondo_topology_config_t* given) {
  const rondo_topology_config_t& config = given != nullptr ? *given : kDefaults;
  RONDO_TRY(check_struct("config", &config));
  if (config.p2p_below_switches < -1 || config.p2p_below_switches > 1)
    return error(ErrorKind::ConfigInvalid, "config->p2p_below_switches is {}: expected -1, 0 or 1",
                 config.p2p_below_switches);
  if (config.hosts < 1 || config.hosts > kMaxHosts)
    return error(ErrorKind::ConfigInvalid, "config->hosts is {}: expected 1 to {}", config.hosts, kMaxHosts);
  return config;
}

Status rondo::api::make_topology(rondo_topology_t* topology, std::vector<Machine> kinds,
                                 std::span<const size_t> kind_of_host,
                                 const rondo_topology_config_t& config) {
  GraphOptions options;
  if (config.p2p_below_switches >= 0) options.p2p_below_switches = config.p2p_below_switches == 1;
  RONDO_TRY_ASSIGN(TopologyGraph graph, TopologyGraph::build(kinds, kind_of_host, options));
  *topology = new rondo_topology(std::move(kinds), std::move(graph), options);
  return {};
}

Result<Machine> rondo::api::described_host(const DetectOptions& options) {
  RONDO_TRY_ASSIGN(Machine machine, rondo::described_host(options));
  if (const auto dump = setting(Setting::NcclTopoDumpFile))
    RONDO_TRY(write_text(nccl_xml(machine), dump->c_str()));
  return machine;
}

std::vector<int> rondo::api::link_indices(const rondo_topology& topology, const TopologyGraph& some) {
  std::vector<int> indices;
  int index = 0;
  for (const TopologyLink& link : some.links()) {
    const auto is_same = [&](const TopologyLink& other) {
      return other.from == link.from && other.to == link.to && other.cls == link.cls;
    };
    while (!is_same(topology.graph.link(index))) ++index;
    indices.push_back(index++);
  }
  return indices;
}

Result<Machine> rondo::api::machine_of(const rondo_topology& topology) {
  if (topology.kinds.size() > 1)
    return error(Code::Unsupported, "topology: its hosts are of {} kinds: expected equal hosts",
                 topology.kinds.size());
  Machine machine = topology.kinds[0];
  if (topology.options.p2p_below_switches) machine.p2p_below_switches = topology.options.p2p_below_switches;
  return machine;
}

Status rondo::api::write_text(const std::string& text, const char* path) {
  const bool to_output = std::string_view(path) == "-";
  const std::unique_ptr<FILE, int (*)(FILE*)> opened(to_output ? nullptr : std::fopen(path, "we"),
                                                     std::fclose);
  FILE* const file = to_output ? stdout : opened.get();
  const auto failed = [&] {
    return system_error(std::string("cannot write ") + path, errno, ErrorKind::FileUnwritable);
  };
  if (file == nullptr) return failed();
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  return whole ? Status() : failed();
}

rondo_status_t rondo_topology_load(rondo_topology_t* topology, const char* path,
                                   const rondo_topology_config_t* config) {
  return guarded("rondo_topology_load", nullptr, [&]() -> Status {
    if (topology == nullptr) return api::null_argument("topology");
    *topology = nullptr;
    if (path == nullptr) return api::null_argument("path");
    RONDO_TRY_ASSIGN(const rondo_topology_config_t known, api::checked(config));
    return make(topology, described_machine(path), known);
  });
}

rondo_status_t rondo_topology_detect(rondo_topology_t* topology, const rondo_topology_config_t* config) {
  return guarded("rondo_topology_detect", nullptr, [&]() -> Status {
    if (topology == nullptr) return api::null_argument("topology");
    *topology = nullptr;
    RONDO_TRY_ASSIGN(const rondo_topology_config_t known, api::checked(config));
    return make(topology, api::described_host({}), known);
  });
}

rondo_status_t rondo_topology_named(rondo_topology_t* topology, const char* name,
                                    const rondo_topology_config_t* config) {
  return guarded("rondo_topology_named", nullptr, [&]() -> Status {
    if (topology == nullptr) return api::null_argument("topology");
    *topology = nullptr;
    if (name == nullptr) return api::null_argument("name");
    RONDO_TRY_ASSIGN(const rondo_topology_config_t known, api::checked(config));
    return make(topology, known_machine(name), known);
  });
}

rondo_status_t rondo_topology_known(int index, const char** name, const char** summary) {
  return guarded("rondo_topology_known", nullptr, [&]() -> Status {
    if (name == nullptr) return api::null_argument("name");
    static const auto& known = *new std::vector<KnownMachine>(known_machines());
    const bool exists = index >= 0 && static_cast<size_t>(index) < known.size();
    *name = exists ? known[static_cast<size_t>(index)].name.data() : nullptr;
    if (summary != nullptr) *summary = exists ? known[static_cast<size_t>(index)].summary.data() : nullptr;
    return {};
  });
}

rondo_status_t rondo_topology_save(rondo_topology_t topology, const char* path) {
  return guarded("rondo_topology_save", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    if (path == nullptr) return api::null_argument("path");
    RONDO_TRY_ASSIGN(const Machine machine, api::machine_of(*topology));
    return api::write_text(nccl_xml(machine), path);
  });
}

rondo_status_t rondo_topology_free(rondo_topology_t topology) {
  if (topology == nullptr) return RONDO_OK;
  return guarded("rondo_topology_free", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    topology->mark = 0;
    delete topology;
    return {};
  });
}

rondo_status_t rondo_topology_counts(rondo_topology_t topology, int* nodes, int* links, int* remarks) {
  return guarded("rondo_topology_counts", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    if (nodes != nullptr) *nodes = static_cast<int>(topology->graph.nodes().size());
    if (links != nullptr) *links = static_cast<int>(topology->graph.links().size());
    if (remarks != nullptr) *remarks = static_cast<int>(topology->graph.repairs().size());
    return {};
  });
}

rondo_status_t rondo_topology_node(rondo_topology_t topology, int index, rondo_topology_node_t* node) {
  return guarded("rondo_topology_node", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_index("index", index, topology->graph.nodes().size()));
    RONDO_TRY(check_struct("node", node));
    const TopologyNode& known = topology->graph.node(index);
    node->kind = kind_name(known.kind);
    node->name = known.name.c_str();
    node->bus_id = known.bus_id.c_str();
    node->host = known.host;
    node->dev = known.dev;
    return {};
  });
}

rondo_status_t rondo_topology_link(rondo_topology_t topology, int index, rondo_topology_link_t* link) {
  return guarded("rondo_topology_link", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_index("index", index, topology->graph.links().size()));
    RONDO_TRY(check_struct("link", link));
    const TopologyLink& known = topology->graph.link(index);
    link->from = known.from;
    link->to = known.to;
    link->link_class = link_class_name(known.cls);
    link->count = known.count;
    link->bandwidth = gigabytes(known.kBps);
    return {};
  });
}

rondo_status_t rondo_topology_path(rondo_topology_t topology, int from, int to, rondo_topology_path_t* path) {
  return guarded("rondo_topology_path", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_index("from", from, topology->graph.nodes().size()));
    RONDO_TRY(check_index("to", to, topology->graph.nodes().size()));
    RONDO_TRY(check_struct("path", path));
    if (topology->graph.node(from).kind != NodeKind::Gpu)
      return error(Code::InvalidArgument, "from is {}, which is {}: expected a GPU", from,
                   topology->graph.node(from).name);
    const std::lock_guard lock(topology->mutex);
    const PathSummary best = topology->paths.between(topology->graph, from, to);
    path->path_class = path_class_name(best.cls).data();
    path->bandwidth = best.hops > 0 ? gigabytes(best.kBps) : 0;
    path->hops = best.hops;
    return {};
  });
}

rondo_status_t rondo_topology_remark(rondo_topology_t topology, int index, const char** text) {
  return guarded("rondo_topology_remark", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    RONDO_TRY(check_index("index", index, topology->graph.repairs().size()));
    if (text == nullptr) return api::null_argument("text");
    *text = topology->graph.repairs()[static_cast<size_t>(index)].c_str();
    return {};
  });
}

rondo_status_t rondo_topology_limit(rondo_topology_t topology, const char* collective, int root,
                                    int all_links, rondo_topology_limit_t* limit) {
  return guarded("rondo_topology_limit", nullptr, [&]() -> Status {
    RONDO_TRY(check_topology(topology));
    if (collective == nullptr) return api::null_argument("collective");
    RONDO_TRY(check_struct("limit", limit));
    const auto kind = collective_by_name(collective);
    if (!kind) return error(ErrorKind::NameUnknown, "collective: {}", no_collective(collective));
    const TopologyGraph& graph = topology->graph;
    if (graph.gpus().empty()) return error(Code::InvalidArgument, "topology: it has no GPUs");
    const std::lock_guard lock(topology->mutex);
    auto known = topology->limits.find({*kind, root, all_links != 0});
    if (known == topology->limits.end()) {
      const TopologyGraph links = api::usual_links(*topology, all_links);
      const bool all = links.links().size() == graph.links().size();
      known = topology->limits.find({*kind, root, all});
      if (known == topology->limits.end()) {
        RONDO_TRY_ASSIGN(BandwidthBound bound, bandwidth_bound(links, graph.gpus(), *kind, root));
        known = topology->limits.emplace(std::tuple(*kind, root, all), std::move(bound)).first;
      }
    }
    const BandwidthBound& bound = known->second;
    limit->bandwidth = gigabytes(bound.bus);
    limit->ceiling = gigabytes(bound.ceiling);
    limit->reached = bound.kind == BoundKind::Cuts ? 0 : 1;
    limit->limit = bound.limit.c_str();
    return {};
  });
}
