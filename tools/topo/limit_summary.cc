// SPDX-License-Identifier: Apache-2.0
#include "limit_summary.h"

#include <fmt/format.h>

#include <ctime>

#include "machine_view.h"

namespace rondo::topo {
namespace {

/// Within a cell a bar ends it.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

int gpu_count(rondo_topology_t topology) {
  return static_cast<int>(MachineView(topology).of_kind("GPU").size());
}

}  // namespace

std::string limit_summary_heading() {
  return "| machine | GPUs | limit, GB/s | plan, GB/s | trees | parts of a block | limited by | limit with "
         "all links, "
         "GB/s | ms |\n"
         "|---|---|---|---|---|---|---|---|---|\n";
}

std::string limit_summary_row(const std::string& name, rondo_topology_t topology) {
  const int gpus = gpu_count(topology);
  if (gpus < 2)
    return fmt::format("| {} | {} | - | - | - | - | fewer than two GPUs | - | - |\n", cell(name), gpus);
  rondo_topology_limit_t limit = {}, all = {};
  rondo_topology_plan_t plan = {};
  limit.size = all.size = sizeof(limit);
  plan.size = sizeof(plan);
  const std::clock_t start = std::clock();  // of this process alone: other programs do not count
  require(rondo_topology_limit(topology, "all_gather", 0, 0, &limit));
  require(rondo_topology_plan(topology, 0, &plan));
  const double cpu_ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  require(rondo_topology_limit(topology, "all_gather", 0, 1, &all));
  return fmt::format("| {} | {} | {} | {}{} | {} | {} | {} | {} | {:.1f} |\n", cell(name), gpus,
                     gigabytes(limit.bandwidth), gigabytes(plan.bandwidth),
                     plan.complete != 0 ? "" : " (the search ran out of time)", plan.trees,
                     plan.parts_per_root, cell(limit.limit), gigabytes(all.bandwidth), cpu_ms);
}

}  // namespace rondo::topo
