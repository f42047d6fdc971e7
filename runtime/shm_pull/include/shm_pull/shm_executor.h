// SPDX-License-Identifier: Apache-2.0
// ShmExecutor: carries out short calls of a communicator whose ranks are all on one host: each rank posts its
// data in shared memory and reads what it needs. Used by the thread whose turn it is on the communicator.
#pragma once

#include <map>
#include <tuple>

#include "bootstrap/membership.h"
#include "plan/executor.h"
#include "plan/pull_costs.h"
#include "schedule/pull_plan.h"

namespace rondo {

class ShmPull;

class ShmExecutor {
 public:
  static constexpr size_t kMaxBytes = size_t{256} * 1024;  // of a vector

  ShmExecutor(const MembershipPtr& membership, const PullTerms& terms);
  ~ShmExecutor();

  /// The row and all plans must not outlive it.
  Executor row();

  /// Mismatch that names a call that another rank made and this one did not; Ok if there is none.
  Status check_nothing_left() const;

 private:
  using Key = std::tuple<const Algorithm*, int, bool>;  // root, commutative
  std::unique_ptr<Plan> prepare(const Call& call, const Algorithm& algorithm);
  const PullPlan& pull_plan(const Algorithm& algorithm, const Shape& shape);

  PullTerms terms_;
  int rank_;
  int nranks_;
  std::unique_ptr<ShmPull> pull_;
  std::map<Key, PullPlan> pull_plans_;  // the pull form of an algorithm at this rank
};

}  // namespace rondo
