// SPDX-License-Identifier: Apache-2.0
// PlanCache: a communicator's plans, by what their calls have in common. Used by the thread whose turn it is
// on the communicator.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "plan/executor.h"

namespace rondo {

/// Calls with equal keys differ only in their buffers. Handles of user-defined types and operations are never
/// reused.
struct PlanKey {
  size_t count = 0;
  uint32_t type = 0;
  uint32_t op = 0;
  int root = 0;
  CollectiveKind kind = CollectiveKind::Barrier;
  bool on_gpu = false;

  /// The call must not be a _v form: those have no key.
  static PlanKey of(const Call& call) {
    return {call.count, call.type.id, call.op.id, call.root, call.kind, call.place.on_gpu};
  }
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

class PlanCache {
 public:
  /// Once full, the cache is emptied: a program whose calls have that many lengths repeats few of them.
  static constexpr size_t kMaxPlans = 256;

  /// Null if absent.
  Plan* find(const PlanKey& key) {
    const Latest& latest = latest_[static_cast<size_t>(key.kind)];
    return latest.plan != nullptr && latest.key == key ? latest.plan : find_older(key);
  }
  /// No call may be in flight, since its plan may be destroyed.
  Plan* keep(const PlanKey& key, std::unique_ptr<Plan> plan);

 private:
  struct Latest {
    PlanKey key;
    Plan* plan = nullptr;
  };
  struct Hash {
    size_t operator()(const PlanKey& key) const;
  };
  Plan* find_older(const PlanKey& key);

  std::array<Latest, kCollectives> latest_;
  std::unordered_map<PlanKey, std::unique_ptr<Plan>, Hash> plans_;
};

}  // namespace rondo
