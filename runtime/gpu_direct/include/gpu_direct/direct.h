// SPDX-License-Identifier: Apache-2.0
// Direct calls: GPU collectives whose ranks all live in this process. They are folds over all ranks' buffers,
// without intermediate copies, and no kernel waits for another. Any thread.
#pragma once

#include "gpu_group/local_group.h"
#include "kernels/device_folds.h"

namespace rondo {

inline constexpr int kMaxDirectRanks = static_cast<int>(DeviceFolds::kMaxSources);

/// A LocalGroup::Issue. `local_calls` has all ranks, in rank order.
Status issue_direct(std::span<const LocalGroup::LocalCall> local_calls);

}  // namespace rondo
