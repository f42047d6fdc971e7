// SPDX-License-Identifier: Apache-2.0
#include "shm_pull/shm_executor.h"

#include <algorithm>

#include "plan/connection_costs.h"
#include "shm_pull.h"

namespace rondo {
namespace {

class ShmPlan final : public Plan {
 public:
  ShmPlan(ShmPull& pull, const Algorithm& algorithm, const Call& call, PullCall made, int rank, int nranks)
      : Plan(algorithm.name, hash_of(algorithm), call, rank, nranks), pull_(pull), call_(std::move(made)) {}

  Task* start(const CallBuffers& buffers) override {
    call_.use(buffers.send, buffers.recv);
    pull_.start(call_, signature());
    return &pull_;
  }

 private:
  ShmPull& pull_;
  PullCall call_;
};

}  // namespace

ShmExecutor::ShmExecutor(const MembershipPtr& membership, const PullTerms& terms)
    : terms_(terms),
      rank_(membership->rank()),
      nranks_(membership->size()),
      pull_(std::make_unique<ShmPull>(membership)) {}

ShmExecutor::~ShmExecutor() = default;

Status ShmExecutor::check_nothing_left() const { return pull_->check_nothing_left(); }

Executor ShmExecutor::row() {
  Executor row = shm_pull_row(terms_);
  row.prepare = [this](const Call& call, const Algorithm* algorithm) -> Result<std::unique_ptr<Plan>> {
    return prepare(call, *algorithm);
  };
  return row;
}

std::unique_ptr<Plan> ShmExecutor::prepare(const Call& call, const Algorithm& algorithm) {
  const PullPlan& plan = pull_plan(algorithm, call.shape(nranks_));
  const size_t whole_vector = std::max<size_t>(1, call.count * call.type.bytes / call.unit_bytes());
  const CallArgs args{.layout = layout_of(call, plan.chunks, whole_vector),
                      .type = call.type,
                      .op = call.op,
                      .nranks = nranks_,
                      .reduces = reduces(call.kind)};
  return std::make_unique<ShmPlan>(*pull_, algorithm, call, PullCall(plan, args, rank_), rank_, nranks_);
}

const PullPlan& ShmExecutor::pull_plan(const Algorithm& algorithm, const Shape& shape) {
  const Key key{&algorithm, shape.root, shape.commutative};
  auto found = pull_plans_.find(key);
  if (found == pull_plans_.end())
    found = pull_plans_.emplace(key, pull_plan_of(shape.kind, algorithm.build(shape, rank_))).first;
  return found->second;
}

}  // namespace rondo
