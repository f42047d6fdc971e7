// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_cache.h"

namespace rondo {

size_t PlanCache::Hash::operator()(const PlanKey& key) const {
  uint64_t hash = key.count;
  for (const uint64_t word :
       {uint64_t{key.type} << 32 | key.op, static_cast<uint64_t>(static_cast<uint32_t>(key.root)) << 32 |
                                               static_cast<uint64_t>(key.kind) << 1 | (key.on_gpu ? 1 : 0)}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

Plan* PlanCache::find_older(const PlanKey& key) {
  const auto found = plans_.find(key);
  if (found == plans_.end()) return nullptr;
  latest_[static_cast<size_t>(key.kind)] = {key, found->second.get()};
  return found->second.get();
}

Plan* PlanCache::keep(const PlanKey& key, std::unique_ptr<Plan> plan) {
  if (plans_.size() == kMaxPlans) {
    latest_ = {};
    plans_.clear();
  }
  Plan* const kept = (plans_[key] = std::move(plan)).get();
  latest_[static_cast<size_t>(key.kind)] = {key, kept};
  return kept;
}

}  // namespace rondo
