// SPDX-License-Identifier: Apache-2.0
// The cache of plans: calls that differ in their buffers alone share one.
#include "plan/plan_cache.h"

#include "catch.h"

using namespace rondo;

namespace {

class CountedPlan final : public Plan {
 public:
  CountedPlan(const Call& call, int& alive) : Plan("counted", 0, call, 0, 2), alive_(alive) { ++alive_; }
  ~CountedPlan() override { --alive_; }
  Task* start(const CallBuffers& /*buffers*/) override { return nullptr; }

 private:
  int& alive_;
};

Call call_of(CollectiveKind kind, size_t count) {
  Call call;
  call.kind = kind;
  call.count = count;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  return call;
}

TEST_CASE("each key has its plan, whatever is looked up in between") {
  int alive = 0;
  PlanCache cache;
  std::vector<Call> calls{call_of(CollectiveKind::AllReduce, 2), call_of(CollectiveKind::AllReduce, 3),
                          call_of(CollectiveKind::Reduce, 2)};
  calls.push_back(calls[2]);
  calls.back().root = 1;
  calls.push_back(calls[0]);
  calls.back().type = CallType::of(ElementType::Int32);
  calls.push_back(calls[0]);
  calls.back().op = CallOp::of(Reduction::Max);
  calls.push_back(calls[0]);
  calls.back().place.on_gpu = true;
  std::vector<Plan*> plans;
  for (const Call& call : calls) {
    CHECK(cache.find(PlanKey::of(call)) == nullptr);
    plans.push_back(cache.keep(PlanKey::of(call), std::make_unique<CountedPlan>(call, alive)));
  }
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < calls.size(); ++i) CHECK(cache.find(PlanKey::of(calls[i])) == plans[i]);
  CHECK(alive == static_cast<int>(calls.size()));
}

TEST_CASE("a full cache is emptied") {
  int alive = 0;
  PlanCache cache;
  for (size_t count = 0; count <= PlanCache::kMaxPlans; ++count) {
    const Call call = call_of(CollectiveKind::AllReduce, count);
    Plan* const kept = cache.keep(PlanKey::of(call), std::make_unique<CountedPlan>(call, alive));
    CHECK(cache.find(PlanKey::of(call)) == kept);
    CHECK(alive <= static_cast<int>(PlanCache::kMaxPlans));
  }
  CHECK(alive == 1);
  CHECK(cache.find(PlanKey::of(call_of(CollectiveKind::AllReduce, 0))) == nullptr);
}

}  // namespace
