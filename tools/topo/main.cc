// SPDX-License-Identifier: Apache-2.0
// rondo-topo: what joins the GPUs and NICs of a machine, and how fast collectives can be on it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <optional>
#include <vector>

#include "calibration.h"
#include "cost_list.h"
#include "graph_report.h"
#include "limit_summary.h"
#include "machine_view.h"
#include "owned_topology.h"
#include "picture.h"
#include "review_table.h"
#include "text_tree.h"

namespace {

using namespace rondo::topo;

constexpr int kMaxNames = 1 << 20;

struct TopoOptions {
  std::string load, machine, save, host_root, graph_save, graph_load;
  std::vector<std::string> diff, limits;
  bool is_limits = false;
  bool job = false, list = false, costs = false, calibrate = false, paths = false, dot = false, svg = false,
       limit = false, doctor = false, plan = false, rings = false;
  bool graph = false;
  int hosts = 1, root = 0, seconds = 12;
  bool no_p2p = false;
};

void declare(CLI::App& app, TopoOptions& options) {
  auto* load =
      app.add_option(
             "--load", options.load,
             "read this description: NCCL's topology XML, hwloc's XML (lstopo --of xml) or the output of "
             "nvidia-smi topo -m")
          ->check([](const std::string& path) { return path.empty() ? "it names no file" : ""; });
  app.add_option("--machine", options.machine, "a well-known machine (--list)")
      ->check([](const std::string& name) { return name.empty() ? "it names no machine" : ""; })
      ->excludes(load);
  auto* job =
      app.add_flag(
             "--job", options.job,
             "the hosts of all ranks that a launcher (rondo-run, torchrun, mpirun) starts; the first prints")
          ->excludes(load, "--machine");
  app.add_flag("--list", options.list, "list the well-known machines");
  app.add_flag(
      "--costs", options.costs,
      "what messages are taken to cost when the algorithms of calls are chosen, and where that is from");
  app.add_flag("--calibrate", options.calibrate,
               "measure what messages cost on this host, and keep that for later jobs");
  app.add_option("--seconds", options.seconds, "with --calibrate: for about how long (12)")
      ->check(CLI::Range(1, 3600))
      ->needs(app.get_option("--calibrate"));
  app.add_option("--save", options.save, "write the machine as NCCL's topology XML; -: to standard output");
  app.add_flag("--paths", options.paths, "the best path from each GPU to each GPU and NIC");
  app.add_flag("--limit", options.limit,
               "the highest bandwidth of each collective, what limits it, and a plan");
  auto* doctor = app.add_flag("--doctor", options.doctor,
                              "what is wrong with the machine and, if that is this host, with its settings; "
                              "what that costs, and what to do");
  app.add_option("--host-root", options.host_root,
                 "with --doctor: a folder with sys and proc of another host, whose settings alone are judged")
      ->check(CLI::ExistingDirectory)
      ->needs(doctor);
  app.add_option("--diff", options.diff,
                 "what machine B has less or more than machine A, and what that costs; files or well-known "
                 "machines")
      ->type_name("A B")
      ->expected(2)
      ->excludes(doctor);
  app.add_option(
         "--limits", options.limits,
         "a Markdown table of the limits and plans of several machines: files or well-known machines; "
         "without names all of the latter")
      ->type_name("NAME...")
      ->expected(0, kMaxNames)
      ->excludes(doctor, "--diff");
  app.add_flag("--graph", options.graph,
               "the fastest rings and the limits beside them; for several hosts, also two trees over them");
  app.add_option("--graph-save", options.graph_save,
                 "write these rings as NCCL's graph XML (NCCL_GRAPH_FILE); -: to standard output");
  app.add_option("--graph-load", options.graph_load,
                 "read NCCL's graph XML (NCCL_GRAPH_DUMP_FILE), and say what it gives on this machine");
  app.add_flag("--svg", options.svg, "a picture of the machine");
  app.add_flag("--dot", options.dot, "the graph for Graphviz");
  auto* plan =
      app.add_flag("--plan", options.plan, "with --svg or --dot: the trees of a GPU in the plan, in colours");
  app.add_option("--root", options.root, "with --plan: the number of that GPU among all GPUs (0)")
      ->needs(plan);
  app.add_flag("--rings", options.rings, "with --svg or --dot: the fastest rings, in colours")
      ->excludes(plan);
  app.add_option("--hosts", options.hosts, "N hosts of this kind, joined by a network (1)")
      ->check(CLI::Range(1, 64))
      ->excludes(job);
  app.add_flag("--no-p2p", options.no_p2p, "GPUs below one PCI switch do not reach one another there");
  app.get_option("--calibrate")->excludes(app.get_option("--costs"));
  for (const char* alone : {"--list", "--costs", "--calibrate", "--host-root", "--diff", "--limits"})
    for (const char* of_one_machine : {"--load", "--machine", "--job", "--save", "--paths", "--limit",
                                       "--graph", "--graph-save", "--graph-load", "--svg", "--dot"})
      app.get_option(alone)->excludes(app.get_option(of_one_machine));
  app.set_version_flag("--version", version_text());
}

void list_machines() {
  for (const auto& [name, summary] : known_machines()) fmt::print("{:<10}  {}\n", name, summary);
}

rondo_topology_config_t config_of(const TopoOptions& options) {
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  if (options.no_p2p) config.p2p_below_switches = 0;
  config.hosts = options.hosts;
  return config;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_this_host(const TopoOptions& options) {
  return options.load.empty() && options.machine.empty() && !options.job;
}

/// Null: another rank of the job prints.
OwnedTopology chosen_topology(const TopoOptions& options, const rondo_topology_config_t& config) {
  if (!options.load.empty()) return topology_from_file(options.load, config);
  if (!options.machine.empty()) return topology_by_name(options.machine, config);
  return options.job ? topology_of_job(config) : topology_of_this_host(config);
}

std::string chosen_name(const TopoOptions& options) {
  if (is_this_host(options)) return "this host";
  if (options.job) return "this job";
  return options.load.empty() ? options.machine : file_name(options.load);
}

void print_differences(const std::string& a, const std::string& b, const rondo_topology_config_t& config) {
  const OwnedTopology first = topology_from(a, config), second = topology_from(b, config);
  fmt::print("{}", difference_table({file_name(a), first.get()}, {file_name(b), second.get()}));
}

void print_limits(std::vector<std::string> names, const rondo_topology_config_t& config) {
  std::erase(names, "");  // which CLI11 makes of none
  if (names.empty())
    for (const auto& [name, summary] : known_machines()) names.push_back(name);
  fmt::print("{}", limit_summary_heading());
  for (const std::string& name : names)
    fmt::print("{}", limit_summary_row(file_name(name), topology_from(name, config).get()));
}

/// What is wrong with the options of a plan or of rings, or empty.
std::string plan_problem(const TopoOptions& options) {
  if (!options.plan && !options.rings) return "";
  const char* const option = options.plan ? "--plan" : "--rings";
  if (!options.svg && !options.dot) return fmt::format("{}: it needs --svg or --dot", option);
  if (options.svg && options.hosts > 1)
    return fmt::format("{}: pictures in colours have one host; use --dot for several", option);
  return "";
}

/// What is wrong with the root of a plan, or empty.
std::string root_problem(const TopoOptions& options, const MachineView& machine) {
  const auto gpus = static_cast<int>(machine.of_kind("GPU").size());
  if (!options.plan || (options.root >= 0 && options.root < gpus)) return "";
  return fmt::format("--root is {}: {}", options.root,
                     gpus == 0 ? "there are no GPUs" : fmt::format("expected 0 to {}", gpus - 1));
}

int run(const TopoOptions& options) {
  if (options.list) {
    list_machines();
    return 0;
  }
  if (options.costs) {
    fmt::print("{}", cost_list());
    return 0;
  }
  if (options.calibrate) {
    calibrate_host(options.seconds);
    return 0;
  }
  const rondo_topology_config_t config = config_of(options);
  if (!options.diff.empty()) {
    print_differences(options.diff[0], options.diff[1], config);
    return 0;
  }
  if (options.is_limits) {
    print_limits(options.limits, config);
    return 0;
  }
  if (!options.host_root.empty()) {
    fmt::print("{}", host_fault_list(options.host_root));
    return 0;
  }
  if (const std::string problem = plan_problem(options); !problem.empty()) refuse(problem);
  const OwnedTopology topology = chosen_topology(options, config);
  if (!topology) return 0;
  const MachineView machine(topology.get());
  if (const std::string problem = root_problem(options, machine); !problem.empty()) refuse(problem);
  if (!options.save.empty()) require(rondo_topology_save(topology.get(), options.save.c_str()));
  if (options.paths) print_path_table(machine, topology.get());
  if (options.limit) fmt::print("{}", limit_table(topology.get()));
  if (options.graph)
    fmt::print("{}{}", ring_table(machine, topology.get()), host_trees(machine, topology.get()));
  if (!options.graph_load.empty()) fmt::print("{}", loaded_graphs(topology.get(), options.graph_load));
  if (!options.graph_save.empty())
    require(rondo_topology_save_graph(topology.get(), 0, options.graph_save.c_str()));
  std::optional<PlanView> plan;
  if (options.plan) plan = trees_of_plan(topology.get(), machine, options.root);
  if (options.rings) plan = fastest_rings(topology.get(), machine);
  if (options.dot) fmt::print("{}", dot_graph(machine, plan ? &*plan : nullptr));
  const std::string name = chosen_name(options);
  if (options.doctor) fmt::print("{}", fault_table({name, topology.get()}, machine.remarks));
  if (options.doctor && is_this_host(options)) fmt::print("{}", host_fault_list(options.host_root));
  if (options.svg) fmt::print("{}", svg_picture(machine, name, plan ? &*plan : nullptr));
  const bool graph = options.graph || !options.graph_load.empty() || !options.graph_save.empty();
  if (!options.paths && !options.limit && !graph && !options.dot && !options.svg && !options.doctor &&
      options.save.empty())
    fmt::print("{}", text_tree(machine));
  return 0;
}

}  // namespace

const char* const rondo::tool::kProgramName = "rondo-topo";

int main(int argc, char** argv) try {
  TopoOptions options;
  CLI::App app(
      "What joins the GPUs and NICs of a machine, by default this host, and how fast collectives can be on "
      "it.",
      kProgramName);
  declare(app, options);
  app.failure_message([](const CLI::App*, const CLI::Error& wrong) { return option_error(wrong.what()); });
  try {  // CLI11 reports errors by exceptions, and --help too
    app.parse(argc, argv);
    options.is_limits = app.count("--limits") > 0;
  } catch (const CLI::ParseError& parsed) {
    return app.exit(parsed) == 0 ? 0 : kBadOptions;
  }
  return ended(run(options));
} catch (const std::exception& failure) {
  fail(failure.what());
}
