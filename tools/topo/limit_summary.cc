// SPDX-License-Identifier: Apache-2.0
#include "limit_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "machine_view.h"

namespace rondo::topo {
namespace {

/// Within a cell a bar ends it.
std::string cell(const std::string& name) {
  std::string text = printable(name);
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

int gpu_count(rondo_topology_t topology) {
  return static_cast<int>(MachineView(topology).of_kind("GPU").size());
}

}  // namespace

std::string limit_summary_heading() {
  return "| machine | GPUs | best rings, GB/s | plan, GB/s | limit, GB/s | trees | parts of a block | "
         "limited by | limit with all links, GB/s | ms |\n"
         "|---|---|---|---|---|---|---|---|---|---|\n";
}

std::string limit_summary_row(const std::string& name, rondo_topology_t topology) {
  const int gpus = gpu_count(topology);
  if (gpus < 2)
    return fmt::format("| {} | {} | - | - | - | - | - | fewer than two GPUs | - | - |\n", cell(name), gpus);
  rondo_topology_limit_t limit = {}, all = {};
  rondo_topology_plan_t plan = {};
  rondo_topology_rings_t rings = {};
  limit.size = all.size = sizeof(limit);
  plan.size = sizeof(plan);
  rings.size = sizeof(rings);
  const std::clock_t start = std::clock();  // of this process alone: other programs do not count
  if (rondo_topology_limit(topology, "all_gather", 0, 0, &limit) != RONDO_OK ||
      rondo_topology_plan(topology, 0, &plan) != RONDO_OK)
    return fmt::format("| {} | {} | - | - | - | - | - | {} | - | - |\n", cell(name), gpus,
                       cell(rondo_last_error(nullptr)));
  const double cpu_ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  require(rondo_topology_limit(topology, "all_gather", 0, 1, &all));
  const bool has_rings = rondo_topology_rings(topology, 0, &rings) == RONDO_OK;
  constexpr const char* kStopped = " (the search reached its limit)";
  return fmt::format("| {} | {} | {}{} | {}{} | {} | {} | {} | {} | {} | {:.1f} |\n", cell(name), gpus,
                     has_rings ? gigabytes(rings.bandwidth) : "-",
                     !has_rings || rings.optimal != 0 ? "" : kStopped, gigabytes(plan.bandwidth),
                     plan.complete != 0 ? "" : kStopped, gigabytes(std::max(limit.bandwidth, plan.bandwidth)),
                     plan.trees, plan.parts_per_root, cell(limit.limit),
                     gigabytes(std::max(all.bandwidth, plan.bandwidth)), cpu_ms);
}

}  // namespace rondo::topo
