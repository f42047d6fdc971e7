// SPDX-License-Identifier: Apache-2.0
#include "gpu_direct/direct.h"

#include <algorithm>

#include "direct_folds.h"
#include "gpu/device.h"

namespace rondo {

Status issue_direct(std::span<const LocalGroup::LocalCall> local_calls) {
  std::vector<DirectCall> calls;
  for (const LocalGroup::LocalCall& local_call : local_calls)
    calls.push_back({local_call.call, local_call.device});
  RONDO_TRY_ASSIGN(const auto folds, direct_folds(calls));
  return issue_in_order(local_calls, [&](std::span<const LocalGroup::LocalCall> leaders) -> Status {
    for (const DirectFolds& one : folds) {
      const auto leader = std::find_if(
          leaders.begin(), leaders.end(),
          [&](const LocalGroup::LocalCall& local_call) { return local_call.device == one.device; });
      const gpu::Current current(one.device);
      RONDO_TRY(current.status());
      RONDO_TRY(one.folds.launch(one.device, leader->stream));
    }
    return {};
  });
}

}  // namespace rondo
