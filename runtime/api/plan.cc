// SPDX-License-Identifier: Apache-2.0
// The C API's plans: how they are made, read, verified and written.
#include "rondo/plan.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "algorithms/algorithm.h"
#include "base/error_kinds.h"
#include "formats/msccl_xml.h"
#include "plan_handle.h"
#include "schedule/verifier.h"
#include "synthesis/forest_algorithm.h"
#include "synthesis/msccl_program.h"
#include "synthesis/msccl_schedules.h"
#include "synthesis/proved.h"
#include "topology_handle.h"

namespace {

using namespace rondo;
using api::check_index;
using api::check_plan;
using api::check_struct;
using api::guarded;

constexpr int kMaxProofSlots = 8;
constexpr int kMaxWeight = 64;

/// The weights of a call, for which its group is right.
Result<std::span<const int>> weights_of(const rondo_plan_call_t& call) {
  if (call.size < sizeof call || call.weights == nullptr) return std::span<const int>();
  const std::span<const int> weights(call.weights, static_cast<size_t>(call.group));
  for (size_t i = 0; i != weights.size(); ++i)
    if (weights[i] < 1 || weights[i] > kMaxWeight)
      return error(Code::InvalidArgument, "call->weights[{}] is {}: expected 1 to {}", i, weights[i],
                   kMaxWeight);
  return weights;
}

Result<Shape> shape_of(const rondo_plan_call_t* call) {
  RONDO_TRY(check_struct("call", call, offsetof(rondo_plan_call_t, weights)));  // callers may be older
  if (call->collective == nullptr) return api::null_argument("call->collective");
  const auto kind = collective_by_name(call->collective);
  if (!kind) return error(ErrorKind::NameUnknown, "call->collective: {}", no_collective(call->collective));
  if (call->ranks < 1 || call->ranks > api::kMaxPlanRanks)
    return error(Code::InvalidArgument, "call->ranks is {}: expected 1 to {}", call->ranks,
                 api::kMaxPlanRanks);
  if (call->root < 0 || call->root >= call->ranks)
    return error(Code::InvalidArgument, "call->root is {}: expected 0 to {}", call->root, call->ranks - 1);
  if (call->group < 1 || call->group > call->ranks)
    return error(Code::InvalidArgument, "call->group is {}: expected 1 to {}", call->group, call->ranks);
  Shape shape{.kind = *kind, .nranks = call->ranks, .root = has_root(*kind) ? call->root : 0};
  shape.levels = call->group;
  RONDO_TRY_ASSIGN(shape.weights, weights_of(*call));
  return shape;
}

Result<std::unique_ptr<rondo_plan>> plan_of(const Algorithm& row, const Shape& shape, int group) {
  if (!row.supports(shape) || (!shape.weights.empty() && !row.has_shares(shape)))
    return error(ErrorKind::AlgorithmCannot, "{} by {} does not serve {} rank{}{}{}",
                 collective_name(shape.kind), row.name, shape.nranks, shape.nranks == 1 ? "" : "s",
                 group == 1 ? "" : fmt::format(" in groups of {}", group),
                 shape.weights.empty() ? "" : " with weights");
  auto plan = std::make_unique<rondo_plan>();
  plan->name = row.name;
  for (int rank = 0; rank != shape.nranks; ++rank) plan->ranks.push_back(row.build(shape, rank));
  plan->shape = shape;
  plan->shape.weights = {};  // the caller's; only what builds Schedules reads them
  return plan;
}

/// The ranks of a machine as FoundPlans wants them: without GPUs of their own, they are its first ones.
RanksOfMachine ranks_of(const rondo_topology& topology, int nranks) {
  return {.nranks = nranks, .hosts = topology.graph.hosts(), .bus_ids = {}, .describe = [&topology] {
            return api::machine_of(topology);
          }};
}

Result<std::unique_ptr<rondo_plan>> forest_plan(const RanksOfMachine& ranks, const Shape& shape) {
  RONDO_TRY_ASSIGN(FoundForest found, found_forest(ranks));
  const auto forest = std::make_shared<const Forest>(found.forest);
  RONDO_TRY_ASSIGN(std::unique_ptr<rondo_plan> plan, plan_of(forest_algorithm(shape.kind, forest), shape, 1));
  plan->found = std::move(found);
  return plan;
}

/// The strongest order that holds for all results.
std::string_view association_of(const rondo_plan& plan, int slots) {
  if (!reduces(plan.shape.kind)) return "";
  for (const Association association : {Association::OneFold, Association::RankOrder})
    if (verify(plan.shape, plan.ranks, {.slots = slots, .tiles = 1, .association = association}).ok())
      return association_name(association);
  return association_name(Association::Any);
}

Result<api::PlanProof> proof_of(const rondo_plan& plan) {
  api::PlanProof proof;
  const auto verifies = [&](int slots) { return prove(plan.shape, plan.ranks, slots, false); };
  // Most plans need one slot; of the others first whether they verify at all.
  proof.slots = 1;
  if (const Status with_one = verifies(1); !with_one.ok()) {
    if (with_one.code() == Code::Unsupported) return with_one;
    if (const Status with_most = verifies(kMaxProofSlots); !with_most.ok()) {
      if (with_most.code() == Code::Unsupported) return with_most;
      proof.slots = 0;
      proof.fault = with_most.message();
      return proof;
    }
    while (!verifies(++proof.slots).ok()) continue;
  }
  proof.in_place = prove(plan.shape, plan.ranks, proof.slots, true).ok();
  proof.association = association_of(plan, proof.slots);
  return proof;
}

std::vector<std::string> texts_of(const Schedule& schedule, const Lane& lane) {
  std::vector<std::string> texts;
  for (const Step& step : lane.steps) texts.push_back(to_string(schedule, step));
  return texts;
}

}  // namespace

rondo_status_t rondo_plan_named(rondo_plan_t* plan, const rondo_plan_call_t* call, const char* algorithm) {
  return guarded("rondo_plan_named", nullptr, [&]() -> Status {
    if (plan == nullptr) return api::null_argument("plan");
    *plan = nullptr;
    if (algorithm == nullptr) return api::null_argument("algorithm");
    RONDO_TRY_ASSIGN(const Shape shape, shape_of(call));
    RONDO_TRY_ASSIGN(const Algorithm* const row, algorithm_by_name(shape.kind, algorithm));
    RONDO_TRY_ASSIGN(std::unique_ptr<rondo_plan> made, plan_of(*row, shape, call->group));
    *plan = made.release();
    return {};
  });
}

rondo_status_t rondo_plan_found(rondo_plan_t* plan, const rondo_plan_call_t* call, const char* algorithm,
                                rondo_topology_t topology) {
  return guarded("rondo_plan_found", nullptr, [&]() -> Status {
    if (plan == nullptr) return api::null_argument("plan");
    *plan = nullptr;
    if (algorithm == nullptr) return api::null_argument("algorithm");
    RONDO_TRY(api::check_topology(topology));
    RONDO_TRY_ASSIGN(const Shape shape, shape_of(call));
    const RanksOfMachine ranks = ranks_of(*topology, shape.nranks);
    const std::string_view name = algorithm;
    if (name.starts_with("file:") || !FoundPlans::have(shape.kind, name))
      return error(ErrorKind::NoSuchPlan, "{} has no plan '{}' by the links of a machine",
                   collective_name(shape.kind), name);
    if (name == kForest) {
      RONDO_TRY_ASSIGN(std::unique_ptr<rondo_plan> made, forest_plan(ranks, shape));
      *plan = made.release();
      return {};
    }
    FoundPlans plans(ranks);
    RONDO_TRY_ASSIGN(const Algorithm* const row, plans.find(shape.kind, name));
    RONDO_TRY_ASSIGN(std::unique_ptr<rondo_plan> made, plan_of(*row, shape, 1));
    *plan = made.release();
    return {};
  });
}

rondo_status_t rondo_plan_import(rondo_plan_t* plan, const char* path) {
  return guarded("rondo_plan_import", nullptr, [&]() -> Status {
    if (plan == nullptr) return api::null_argument("plan");
    *plan = nullptr;
    if (path == nullptr) return api::null_argument("path");
    RONDO_TRY_ASSIGN(const MscclProgram program, msccl_program_from_xml_file(path));
    RONDO_TRY_ASSIGN(std::vector<Schedule> ranks, schedules_of(program));
    auto made = std::make_unique<rondo_plan>();
    made->name = program.name.empty() ? "file" : program.name;
    made->shape = {.kind = program.collective, .nranks = static_cast<int>(ranks.size())};
    made->ranks = std::move(ranks);
    *plan = made.release();
    return {};
  });
}

rondo_status_t rondo_plan_export(rondo_plan_t plan, const char* path) {
  return guarded("rondo_plan_export", nullptr, [&]() -> Status {
    RONDO_TRY(check_plan(plan));
    if (path == nullptr) return api::null_argument("path");
    RONDO_TRY_ASSIGN(const std::string text, msccl_text_of(plan->shape, plan->ranks, plan->name));
    return api::write_text(text, path);
  });
}

rondo_status_t rondo_plan_free(rondo_plan_t plan) {
  if (plan == nullptr) return RONDO_OK;
  return guarded("rondo_plan_free", nullptr, [&]() -> Status {
    RONDO_TRY(check_plan(plan));
    plan->mark = 0;
    delete plan;
    return {};
  });
}

rondo_status_t rondo_plan_info(rondo_plan_t plan, rondo_plan_info_t* info) {
  return guarded("rondo_plan_info", nullptr, [&]() -> Status {
    RONDO_TRY(check_plan(plan));
    RONDO_TRY(check_struct("info", info));
    const Chunks& chunks = plan->ranks[0].chunks;
    info->name = plan->name.c_str();
    info->collective = collective_name(plan->shape.kind).data();
    info->ranks = plan->shape.nranks;
    info->root = plan->shape.root;
    info->parts = chunks.parts;
    info->chunks = std::max(chunks.input, chunks.output);
    return {};
  });
}

rondo_status_t rondo_plan_rank(rondo_plan_t plan, int rank, rondo_plan_rank_t* of_rank) {
  return guarded("rondo_plan_rank", nullptr, [&]() -> Status {
    RONDO_TRY(check_plan(plan));
    RONDO_TRY(check_index("rank", rank, plan->ranks.size()));
    RONDO_TRY(check_struct("of_rank", of_rank));
    const Schedule& schedule = plan->ranks[static_cast<size_t>(rank)];
    of_rank->lanes = static_cast<int>(schedule.lanes.size());
    of_rank->scratch = schedule.scratch_chunks;
    of_rank->steps = 0;
    of_rank->messages = of_rank->sent = 0;
    for (const Lane& lane : schedule.lanes) {
      of_rank->steps += static_cast<int>(lane.steps.size());
      for (const Step& step : lane.steps) {
        if (!step.has(kSend)) continue;
        const auto receivers = static_cast<int64_t>(schedule.peer_sets[step.send_set].size());
        of_rank->messages += receivers;
        of_rank->sent += receivers * step.count;
      }
    }
    return {};
  });
}

rondo_status_t rondo_plan_step(rondo_plan_t plan, int rank, int lane, int index, const char** text) {
  return guarded("rondo_plan_step", nullptr, [&]() -> Status {
    RONDO_TRY(check_plan(plan));
    RONDO_TRY(check_index("rank", rank, plan->ranks.size()));
    const Schedule& schedule = plan->ranks[static_cast<size_t>(rank)];
    RONDO_TRY(check_index("lane", lane, schedule.lanes.size()));
    if (text == nullptr) return api::null_argument("text");
    const std::lock_guard lock(plan->mutex);
    const auto [known, is_new] = plan->steps.try_emplace({rank, lane});
    if (is_new) known->second = texts_of(schedule, schedule.lanes[static_cast<size_t>(lane)]);
    const bool exists = index >= 0 && static_cast<size_t>(index) < known->second.size();
    *text = exists ? known->second[static_cast<size_t>(index)].c_str() : nullptr;
    return {};
  });
}

rondo_status_t rondo_plan_verify(rondo_plan_t plan, rondo_plan_proof_t* proof) {
  return guarded("rondo_plan_verify", nullptr, [&]() -> Status {
    RONDO_TRY(check_plan(plan));
    RONDO_TRY(check_struct("proof", proof));
    const std::lock_guard lock(plan->mutex);
    if (!plan->proof) {
      RONDO_TRY_ASSIGN(plan->proof, proof_of(*plan));
    }
    const api::PlanProof& known = *plan->proof;
    proof->verifies = known.slots > 0 ? 1 : 0;
    proof->slots = known.slots;
    proof->in_place = known.in_place ? 1 : 0;
    proof->association = known.association.empty() ? "" : known.association.data();
    proof->fault = known.fault.c_str();
    return {};
  });
}
