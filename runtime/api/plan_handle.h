// SPDX-License-Identifier: Apache-2.0
// What a rondo_plan_t is.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error_kinds.h"
#include "handles.h"
#include "rondo/plan.h"
#include "schedule/schedule.h"
#include "synthesis/found_plans.h"

namespace rondo::api {

inline constexpr int kMaxPlanRanks = 256;

/// What a proof found.
struct PlanProof {
  int slots = 0;
  bool in_place = false;
  std::string_view association;
  std::string fault;
};

}  // namespace rondo::api

struct rondo_plan {
  static constexpr uint64_t kMark = 0x6e616c706f646e72;
  uint64_t mark = kMark;
  std::string name;
  rondo::Shape shape;
  std::vector<rondo::Schedule> ranks;
  std::optional<rondo::FoundForest> found = {};  // if it follows one
  std::mutex mutex = {};                         // guards what follows
  std::optional<rondo::api::PlanProof> proof = {};
  std::map<std::pair<int, int>, std::vector<std::string>> steps = {};  // by rank and lane, once requested
};

namespace rondo::api {

inline Status check_plan(rondo_plan_t plan) {
  if (plan == nullptr) return null_argument("plan");
  if (plan->mark != rondo_plan::kMark) return error(ErrorKind::NoSuchHandle, "plan: not one, or freed");
  return {};
}

}  // namespace rondo::api
