// SPDX-License-Identifier: Apache-2.0
#include "synthesis/found_plans.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <set>

#include "base/error_kinds.h"
#include "gpus_of_ranks.h"
#include "graph/topology_graph.h"
#include "limit/bound.h"
#include "search/equal_channels.h"
#include "search/find_forest.h"
#include "search/find_rings.h"
#include "synthesis/forest_algorithm.h"
#include "synthesis/msccl_algorithm.h"
#include "synthesis/rings_algorithm.h"

namespace rondo {
namespace {

/// The search ends here, unlike by time at the same point for all ranks.
constexpr int64_t kMaxFlows = 500'000;
constexpr int64_t kMaxSteps = 1'000'000;
constexpr auto kMaxTime = std::chrono::hours(1);
constexpr int kMaxRings = 16;

/// The GPUs of the ranks, and the links that plans for them use.
Result<GpusOfRanks> linked_gpus(const RanksOfMachine& ranks) {
  RONDO_TRY_ASSIGN(GpusOfRanks found, gpus_of_ranks(ranks));
  found.graph = fabric_or_all(found.graph, found.gpus);
  return found;
}

using Orders = std::vector<std::vector<int>>;

/// The orders of rings that are equally fast: a faster one is there several times.
Result<Orders> orders_of(const RanksOfMachine& ranks) {
  if (ranks.nranks == 1) return Orders{{0}};
  RONDO_TRY_ASSIGN(const GpusOfRanks on, linked_gpus(ranks));
  const auto plan = find_rings(on.graph, on.gpus, {.max_steps = kMaxSteps, .max_time = kMaxTime});
  if (!plan.ok()) return of_this_rank(plan.status());
  Orders orders;
  for (const RingChannel& channel :
       equal_channels(plan.value().channels, kMaxRings, std::numeric_limits<int64_t>::max()))
    orders.push_back(channel.order);
  return orders;
}

using MakeRow = FoundPlans::MakeRow;

Result<MakeRow> search_forest(const RanksOfMachine& ranks) {
  RONDO_TRY_ASSIGN(FoundForest found, found_forest(ranks));
  const auto forest = std::make_shared<const Forest>(std::move(found.forest));
  return MakeRow([forest](CollectiveKind kind) { return forest_algorithm(kind, forest); });
}

Result<MakeRow> search_rings(const RanksOfMachine& ranks) {
  RONDO_TRY_ASSIGN(const Orders orders, orders_of(ranks));
  return MakeRow([orders](CollectiveKind kind) { return rings_algorithm(kind, orders); });
}

struct NamedPlan {
  std::string_view name;
  bool (*serves)(CollectiveKind kind);
  Result<MakeRow> (*search)(const RanksOfMachine& ranks);
};

constexpr std::string_view kFilePrefix = "file:";

/// A copy that logs and recorders may keep: names of algorithms are static.
const char* forever(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;
  const std::lock_guard lock(mutex);
  return names.emplace(name).first->c_str();
}

constexpr NamedPlan kPlans[] = {{kForest, has_forest, search_forest}, {kRings, has_rings, search_rings}};

}  // namespace

Result<FoundForest> found_forest(const RanksOfMachine& ranks) {
  if (ranks.nranks == 1)
    return FoundForest{TopologyGraph({}, {}), {.gpus = {0}, .trees = {{.root = 0, .edges = {}}}}};
  RONDO_TRY_ASSIGN(GpusOfRanks on, linked_gpus(ranks));
  auto found = find_forest(on.graph, on.gpus, {.max_flows = kMaxFlows, .max_time = kMaxTime});
  if (!found.ok()) return of_this_rank(found.status());
  return FoundForest{std::move(on.graph), found.take()};
}

std::vector<std::string_view> FoundPlans::names(CollectiveKind kind) {
  std::vector<std::string_view> names;
  if (is_of_msccl(kind)) names.push_back("file:PATH");
  for (const NamedPlan& plan : kPlans)
    if (plan.serves(kind)) names.push_back(plan.name);
  return names;
}

bool FoundPlans::have(CollectiveKind kind, std::string_view name) {
  if (name.empty()) return false;  // of most calls
  if (name.starts_with(kFilePrefix)) return is_of_msccl(kind);
  return std::ranges::any_of(kPlans,
                             [&](const NamedPlan& plan) { return plan.name == name && plan.serves(kind); });
}

Result<const Algorithm*> FoundPlans::find_file(CollectiveKind kind, std::string_view name) {
  auto found = files_.find(name);
  if (found == files_.end()) {
    const std::string path(name.substr(kFilePrefix.size()));
    found = files_.emplace(name, msccl_algorithm(forever(name), path)).first;
  }
  RONDO_TRY(found->second.status());
  const Algorithm& row = found->second.value();
  if (row.kind != kind) return error(Code::InvalidArgument, "it is for {}", collective_name(row.kind));
  if (!row.supports({.kind = kind, .nranks = ranks_.nranks}))
    return error(ErrorKind::AlgorithmCannot, "it does not serve {} ranks", ranks_.nranks)
        .as(Code::InvalidUsage);
  return &row;
}

Result<const Algorithm*> FoundPlans::find(CollectiveKind kind, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (name.starts_with(kFilePrefix) && is_of_msccl(kind)) return find_file(kind, name);
  const auto plan = std::ranges::find(kPlans, name, &NamedPlan::name);
  if (plan == std::end(kPlans) || !plan->serves(kind))
    return error(ErrorKind::NameUnknown, "{} has no algorithm '{}'", collective_name(kind), name);
  auto found = found_.find(plan->name);
  if (found == found_.end()) found = found_.emplace(plan->name, plan->search(ranks_)).first;
  RONDO_TRY(found->second.status());
  auto row = rows_.find({plan->name, kind});
  if (row == rows_.end()) row = rows_.emplace(std::pair(plan->name, kind), found->second.value()(kind)).first;
  return &row->second;
}

}  // namespace rondo
