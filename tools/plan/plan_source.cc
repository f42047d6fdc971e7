// SPDX-License-Identifier: Apache-2.0
#include "plan_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/words.h"

namespace rondo::planner {
namespace {

constexpr int kUsualRanks = 8;
constexpr std::string_view kFilePrefix = "file:";

int gpus_of(rondo_topology_t machine) {
  int nodes = 0, gpus = 0;
  require(rondo_topology_counts(machine, &nodes, nullptr, nullptr));
  for (int i = 0; i != nodes; ++i) {
    auto node = sized<rondo_topology_node_t>();
    require(rondo_topology_node(machine, i, &node));
    gpus += node.kind == std::string_view("GPU") ? 1 : 0;
  }
  return gpus;
}

bool is_found(const std::string& algorithm) { return algorithm == "forest" || algorithm == "rings"; }

}  // namespace

bool is_of_the_table(const std::string& name) {
  const size_t sign = name.find('=');
  std::error_code ignored;
  return sign != std::string::npos && name.find('/') > sign && !name.starts_with(kFilePrefix) &&
         !std::filesystem::exists(name, ignored);
}

OwnedTopology machine_of(const PlanOptions& options) {
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  config.hosts = options.hosts;
  if (!options.load.empty()) return topology_from_file(options.load, config);
  if (!options.machine.empty()) return topology_by_name(options.machine, config);
  return nullptr;
}

int ranks_of(const PlanOptions& options, rondo_topology_t machine) {
  if (options.ranks > 0) return options.ranks;
  return machine != nullptr ? gpus_of(machine) : kUsualRanks;
}

std::string network_name(const PlanOptions& options) {
  const std::string hosts = options.hosts > 1 ? fmt::format("{} hosts, each ", options.hosts) : "";
  if (!options.load.empty()) return hosts + printable(options.load.substr(options.load.rfind('/') + 1));
  if (!options.machine.empty()) return hosts + options.machine;
  return fmt::format("ports of {:.1f} GB/s", options.bandwidth);
}

OwnedPlan plan_of(const std::string& name, const PlanOptions& options, rondo_topology_t machine) {
  rondo_plan_t plan = nullptr;
  if (!is_of_the_table(name)) {
    const std::string path = name.starts_with(kFilePrefix) ? name.substr(kFilePrefix.size()) : name;
    require(rondo_plan_import(&plan, path.c_str()));
    OwnedPlan owner(plan);
    const int ranks = info_of(plan).ranks;
    if (options.ranks > 0 && options.ranks != ranks)
      refuse(fmt::format("--ranks is {}: {} is for {}", options.ranks, printable(path), ranks));
    return owner;
  }
  const size_t sign = name.find('=');
  const std::string collective = name.substr(0, sign), algorithm = name.substr(sign + 1);
  rondo_plan_call_t call = RONDO_PLAN_CALL_INITIALIZER;
  call.collective = collective.c_str();
  call.ranks = ranks_of(options, machine);
  call.root = options.root;
  call.group = options.group;
  if (!options.weights.empty()) call.weights = options.weights.data();
  if (machine != nullptr && call.ranks > gpus_of(machine))
    refuse(fmt::format("--ranks is {}: the machine has {}", call.ranks, count_text(gpus_of(machine), "GPU")));
  if (is_found(algorithm) && machine == nullptr)
    refuse(fmt::format("{}: it follows the links of a machine: give --machine or --load", name));
  if (is_found(algorithm))
    require_options(rondo_plan_found(&plan, &call, algorithm.c_str(), machine));
  else
    require_options(rondo_plan_named(&plan, &call, algorithm.c_str()));
  return OwnedPlan(plan);
}

OwnedRun run_of(rondo_plan_t plan, const rondo_plan_network_t& network) {
  rondo_plan_run_t run = nullptr;
  require_options(rondo_plan_simulate(&run, plan, &network));
  return OwnedRun(run);
}

int slots_of(rondo_plan_t plan, const PlanOptions& options) {
  constexpr int kUsualSlots = 2;
  if (options.slots > 0) return options.slots;
  rondo_plan_network_t network = RONDO_PLAN_NETWORK_INITIALIZER;
  network.slots = kUsualSlots;
  network.tiles = 2;
  rondo_plan_run_t run = nullptr;
  const rondo_status_t ends = rondo_plan_simulate(&run, plan, &network);
  const OwnedRun owner(run);
  return ends != RONDO_INTERNAL_ERROR ? kUsualSlots : std::max(kUsualSlots, proof_of(plan).slots);
}

int tiles_of(rondo_plan_t plan, const PlanOptions& options, int usual) {
  if (options.tiles > 0) return options.tiles;
  return info_of(plan).collective == std::string_view("barrier") ? 1 : usual;
}

rondo_plan_network_t network_of(rondo_plan_t plan, const PlanOptions& options, rondo_topology_t machine,
                                double bytes, int tiles) {
  rondo_plan_network_t network = RONDO_PLAN_NETWORK_INITIALIZER;
  network.topology = machine;
  network.all_links = options.all_links ? 1 : 0;
  network.bandwidth = options.bandwidth;
  network.latency = options.latency_us * 1e-6;
  network.slots = slots_of(plan, options);
  network.bytes = bytes;
  network.tiles = tiles_of(plan, options, tiles);
  return network;
}

std::vector<double> sizes_of(const PlanOptions& options) {
  std::vector<double> sizes;
  std::istringstream words(options.bytes);
  for (std::string word; std::getline(words, word, ',');) {
    const auto size = parse_size(word);
    if (!size)
      refuse(fmt::format("--bytes: '{}': give bytes, with K, M or G for powers of 1024", printable(word)));
    sizes.push_back(static_cast<double>(*size));
  }
  if (sizes.empty()) refuse("--bytes: it names no size");
  return sizes;
}

rondo_plan_info_t info_of(rondo_plan_t plan) {
  auto info = sized<rondo_plan_info_t>();
  require(rondo_plan_info(plan, &info));
  return info;
}

rondo_plan_rank_t rank_of(rondo_plan_t plan, int rank) {
  auto of_rank = sized<rondo_plan_rank_t>();
  require(rondo_plan_rank(plan, rank, &of_rank));
  return of_rank;
}

PlanTotals totals_of(rondo_plan_t plan) {
  PlanTotals totals;
  for (int rank = 0; rank != info_of(plan).ranks; ++rank) {
    const rondo_plan_rank_t of_rank = rank_of(plan, rank);
    totals.steps += of_rank.steps;
    totals.messages += of_rank.messages;
    totals.lanes = std::max(totals.lanes, of_rank.lanes);
    totals.scratch = std::max(totals.scratch, of_rank.scratch);
    totals.sent = std::max(totals.sent, of_rank.sent);
  }
  return totals;
}

rondo_plan_proof_t proof_of(rondo_plan_t plan) {
  auto proof = sized<rondo_plan_proof_t>();
  require(rondo_plan_verify(plan, &proof));
  return proof;
}

rondo_plan_time_t time_of(rondo_plan_run_t run) {
  auto time = sized<rondo_plan_time_t>();
  require(rondo_plan_time(run, &time));
  return time;
}

std::vector<rondo_plan_message_t> messages_of(rondo_plan_run_t run) {
  std::vector<rondo_plan_message_t> messages(static_cast<size_t>(time_of(run).messages),
                                             sized<rondo_plan_message_t>());
  for (size_t i = 0; i != messages.size(); ++i)
    require(rondo_plan_message(run, static_cast<int>(i), &messages[i]));
  return messages;
}

std::vector<std::vector<std::string>> steps_of(rondo_plan_t plan, int rank) {
  std::vector<std::vector<std::string>> lanes(static_cast<size_t>(rank_of(plan, rank).lanes));
  for (size_t lane = 0; lane != lanes.size(); ++lane)
    for (int i = 0;; ++i) {
      const char* text = nullptr;
      require(rondo_plan_step(plan, rank, static_cast<int>(lane), i, &text));
      if (text == nullptr) break;
      lanes[lane].emplace_back(text);
    }
  return lanes;
}

std::string title_of(rondo_plan_t plan) {
  const rondo_plan_info_t info = info_of(plan);
  return fmt::format("{} by {}, {}, {} of {}", info.collective, printable(info.name),
                     count_text(info.ranks, "rank"), count_text(info.parts, "part"),
                     info.chunks > info.parts ? "each block" : "the vector");
}

std::string count_text(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace rondo::planner
