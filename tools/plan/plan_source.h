// SPDX-License-Identifier: Apache-2.0
// What the command line says about plans: where each comes from, and what it runs on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time_text.h"
#include "owned_topology.h"
#include "program.h"
#include "rondo/plan.h"

namespace rondo::planner {

using namespace tool;

struct FreePlan {
  void operator()(rondo_plan_t plan) const { rondo_plan_free(plan); }
  void operator()(rondo_plan_run_t run) const { rondo_plan_run_free(run); }
};
using OwnedPlan = std::unique_ptr<rondo_plan, FreePlan>;
using OwnedRun = std::unique_ptr<rondo_plan_run, FreePlan>;

/// As the options have it.
struct PlanOptions {
  std::vector<std::string> plans;  // COLLECTIVE=ALGORITHM, or files
  std::string load, machine;
  std::string bytes = "64M";  // several: commas between them
  std::string output = "-";
  int ranks = 0;  // 0: the GPUs of the machine, or 8
  int root = 0, group = 1, hosts = 1, rank = -1;
  std::vector<int> weights;               // of the ranks of a group; none: they are equal
  int cpus = 0;                           // of a host; 0: this one's
  double latency_us = 2, bandwidth = 25;  // GB/s of ports
  int slots = 0;                          // 0: two, or as many as the plan needs
  int tiles = 0;                          // 0: one, or 8 for times
  bool all_links = false, animate = false, bars = false;
};

/// Whether a plan's name is COLLECTIVE=ALGORITHM, and not a file that is there, or says that it is one.
bool is_of_the_table(const std::string& name);

/// The machine that the options name; null: none.
OwnedTopology machine_of(const PlanOptions& options);

/// As requested, or as many as the machine has GPUs, or 8.
int ranks_of(const PlanOptions& options, rondo_topology_t machine);

/// What is printed of it: "dgx-1v"; "ports of 25.0 GB/s" if there is none.
std::string network_name(const PlanOptions& options);

/// The plan of one of the names. These end the program with the library's error if they fail.
OwnedPlan plan_of(const std::string& name, const PlanOptions& options, rondo_topology_t machine);
OwnedRun run_of(rondo_plan_t plan, const rondo_plan_network_t& network);

/// How many slots a plan's connections have.
int slots_of(rondo_plan_t plan, const PlanOptions& options);

/// As many tiles as requested, or else `usual`; a barrier, which moves nothing, has one.
int tiles_of(rondo_plan_t plan, const PlanOptions& options, int usual);

/// In tiles_of() tiles.
rondo_plan_network_t network_of(rondo_plan_t plan, const PlanOptions& options, rondo_topology_t machine,
                                double bytes, int tiles);

/// The sizes; ends the program if one of them is none.
std::vector<double> sizes_of(const PlanOptions& options);

/// The API's structs, filled in.
rondo_plan_info_t info_of(rondo_plan_t plan);
rondo_plan_rank_t rank_of(rondo_plan_t plan, int rank);

/// Of all ranks: sums, and what one rank has at most.
struct PlanTotals {
  int64_t steps = 0;
  int64_t messages = 0;
  int lanes = 0;     // at most
  int scratch = 0;   // at most
  int64_t sent = 0;  // at most
};
PlanTotals totals_of(rondo_plan_t plan);
rondo_plan_proof_t proof_of(rondo_plan_t plan);
rondo_plan_time_t time_of(rondo_plan_run_t run);
std::vector<rondo_plan_message_t> messages_of(rondo_plan_run_t run);
/// By lane.
std::vector<std::vector<std::string>> steps_of(rondo_plan_t plan, int rank);

/// "all_gather by forest, 8 ranks, 6 parts of each block"
std::string title_of(rondo_plan_t plan);
/// "1 step", "2 steps"
std::string count_text(int64_t count, const std::string& noun);

}  // namespace rondo::planner
