// SPDX-License-Identifier: Apache-2.0
// rondo-topo: what joins the GPUs and NICs of a machine, and how fast collectives can be on it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>

#include "graph_report.h"
#include "machine_view.h"
#include "picture.h"
#include "text_tree.h"

namespace {

using namespace rondo::topo;

constexpr int kBadOptions = 2;

struct TopoOptions {
  std::string load, machine, save, graph_save, graph_load;
  bool list = false, paths = false, dot = false, svg = false, limit = false, graph = false;
  int hosts = 1;
  bool no_p2p = false;
};

void declare(CLI::App& app, TopoOptions& options) {
  auto* load = app.add_option(
      "--load", options.load,
      "read this description: NCCL's topology XML, hwloc's XML (lstopo --of xml) or the output of "
      "nvidia-smi topo -m");
  app.add_option("--machine", options.machine, "a well-known machine (--list)")->excludes(load);
  app.add_flag("--list", options.list, "list the well-known machines");
  app.add_option("--save", options.save, "write the machine as NCCL's topology XML; -: to standard output");
  app.add_flag("--paths", options.paths, "the best path from each GPU to each GPU and NIC");
  app.add_flag("--limit", options.limit,
               "the highest bandwidth of each collective, what limits it, and a plan");
  app.add_flag("--graph", options.graph, "the fastest rings, and the limits beside them");
  app.add_option("--graph-save", options.graph_save,
                 "write these rings as NCCL's graph XML (NCCL_GRAPH_FILE); -: to standard output");
  app.add_option("--graph-load", options.graph_load,
                 "read NCCL's graph XML (NCCL_GRAPH_DUMP_FILE), and say what it gives on this machine");
  app.add_flag("--svg", options.svg, "a picture of the machine");
  app.add_flag("--dot", options.dot, "the graph for Graphviz");
  app.add_option("--hosts", options.hosts, "N hosts of this kind, joined by a network (1)")
      ->check(CLI::Range(1, 64));
  app.add_flag("--no-p2p", options.no_p2p, "GPUs below one PCI switch do not reach one another there");
  app.set_version_flag("--version", fmt::format("rondo-topo {}.{}.{}", RONDO_VERSION / 10000,
                                                RONDO_VERSION / 100 % 100, RONDO_VERSION % 100));
}

void list_machines() {
  const char *name = nullptr, *summary = nullptr;
  for (int i = 0;; ++i) {
    require(rondo_topology_known(i, &name, &summary));
    if (name == nullptr) return;
    fmt::print("{:<10}  {}\n", name, summary);
  }
}

rondo_topology_t made(const TopoOptions& options) {
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  if (options.no_p2p) config.p2p_below_switches = 0;
  config.hosts = options.hosts;
  rondo_topology_t topology = nullptr;
  if (!options.load.empty())
    require(rondo_topology_load(&topology, options.load.c_str(), &config));
  else if (options.machine.empty())
    require(rondo_topology_detect(&topology, &config));
  else
    require(rondo_topology_named(&topology, options.machine.c_str(), &config));
  return topology;
}

int run(const TopoOptions& options) {
  if (options.list) {
    list_machines();
    return 0;
  }
  const std::unique_ptr<rondo_topology, rondo_status_t (*)(rondo_topology_t)> topology(made(options),
                                                                                       rondo_topology_free);
  if (!options.save.empty()) require(rondo_topology_save(topology.get(), options.save.c_str()));
  const MachineView machine(topology.get());
  if (options.paths) fmt::print("{}", path_table(machine, topology.get()));
  if (options.limit) fmt::print("{}", limit_table(topology.get()));
  if (options.graph) fmt::print("{}", ring_table(machine, topology.get()));
  if (!options.graph_load.empty()) fmt::print("{}", loaded_graphs(topology.get(), options.graph_load));
  if (!options.graph_save.empty())
    require(rondo_topology_save_graph(topology.get(), 0, options.graph_save.c_str()));
  if (options.dot) fmt::print("{}", dot_graph(machine));
  const std::string name = !options.load.empty()     ? options.load
                           : options.machine.empty() ? "this host"
                                                     : options.machine;
  if (options.svg) fmt::print("{}", svg_picture(machine, name.substr(name.rfind('/') + 1)));
  const bool graph = options.graph || !options.graph_load.empty() || !options.graph_save.empty();
  if (!options.paths && !options.limit && !graph && !options.dot && !options.svg && options.save.empty())
    fmt::print("{}", text_tree(machine));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  TopoOptions options;
  CLI::App app(
      "What joins the GPUs and NICs of a machine, by default this host, and how fast collectives can be on "
      "it.",
      "rondo-topo");
  declare(app, options);
  try {  // CLI11 reports errors by exceptions, and --help too
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parsed) {
    return app.exit(parsed) == 0 ? 0 : kBadOptions;
  }
  return run(options);
} catch (const std::exception& failure) {
  std::fprintf(stderr, "rondo-topo: %s\n", failure.what());
  return kFailed;
}
