// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_target.h"

#include "targets.h"

#include "hwy/highway.h"
#include "hwy/targets.h"

namespace rondo {

namespace {

// Queried once, before use_vector_target() restricts anything.
const std::vector<int64_t>& usable_targets() {
  static const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  return targets;
}

}  // namespace

std::vector<std::string> vector_targets() {
  std::vector<std::string> names;
  names.reserve(usable_targets().size());
  for (const int64_t target : usable_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void find_vector_target() {
  if (!hwy::GetChosenTarget().IsInitialized()) hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

bool use_vector_target(std::string_view name) {
  int64_t chosen = 0;  // 0: all that the CPU supports
  for (const int64_t target : usable_targets()) {
    if (name == hwy::TargetName(target)) chosen = target;
  }
  if (chosen == 0 && !name.empty()) return false;
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return true;
}

}  // namespace rondo
