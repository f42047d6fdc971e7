// SPDX-License-Identifier: Apache-2.0
// In which order executors are preferred. Pure functions.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "plan/executor.h"

namespace rondo {

/// The first in kExecutorNames that takes a call makes it, unless they compete. Hence calls in memory that
/// all ranks see come before those over connections, whatever the predicted times: they are only taken up to
/// lengths at which they were faster wherever both were measured.
inline auto place_of(std::string_view executor) {
  return std::find(std::begin(kExecutorNames), std::end(kExecutorNames), executor) -
         std::begin(kExecutorNames);
}

/// For a Selector.
inline void put_in_order(std::vector<Executor>& executors) {
  std::ranges::stable_sort(executors, {}, [](const Executor& executor) { return place_of(executor.name); });
}

}  // namespace rondo
