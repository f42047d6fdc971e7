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
    call_.use(buffers.send, buffers.recv, signature());
    pull_.start(call_);
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
  return {.name = "shm_pull",
          .terms = fmt::format(
              "in memory that all ranks see; vectors of at most {} bytes (RONDO_EXCHANGE_BYTES); {:.3g} us a "
              "round, {:.3g} us per byte",
              max_bytes(CollectiveKind::AllReduce), terms_.cost.round_us, terms_.cost.us_per_byte),
          .obstacle = [this](const Call& call, const Shape& shape) { return obstacle(call, shape); },
          .predict = [this](const Algorithm& algorithm, const Call& call,
                            const Shape& shape) { return predict(algorithm, call, shape); },
          .prepare = [this](const Call& call, const Algorithm* algorithm) -> Result<std::unique_ptr<Plan>> {
            return prepare(call, *algorithm);
          }};
}

size_t ShmExecutor::max_bytes(CollectiveKind kind) const {
  return terms_.requested_bytes.value_or(max_pulled_bytes(kind, terms_.cost.ranks_per_cpu > 1));
}

std::string_view ShmExecutor::obstacle(const Call& call, const Shape& shape) const {
  if (call.varying) return "blocks have different lengths";
  if (shape.nranks == 1) return "there is one rank";
  if (max_bytes(call.kind) == 0) return "RONDO_EXCHANGE_BYTES is 0";
  return *call.vector_bytes(shape.nranks) > max_bytes(call.kind) ? "its vector is longer"
                                                                 : std::string_view();
}

Prediction ShmExecutor::predict(const Algorithm& algorithm, const Call& call, const Shape& shape) const {
  if (algorithm.rounds == 0 || !algorithm.supports(shape))
    return {.obstacle = "it is not made of one or two rounds"};
  return {.us = predicted_pull_us(algorithm, call, shape, terms_.cost)};
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
