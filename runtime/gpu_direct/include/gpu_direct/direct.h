// SPDX-License-Identifier: Apache-2.0
// Direct calls: GPU collectives whose ranks all live in this process. They are folds over all ranks' buffers,
// without intermediate copies, and no kernel waits for another. Any thread.
#pragma once

#include "gpu_group/local_group.h"
#include "kernels/device_folds.h"

namespace rondo {

inline constexpr int kMaxDirectRanks = static_cast<int>(DeviceFolds::kMaxSources);

/// The vectors, each the longer of a rank's input and output, that go from one rank's GPU to another's in a
/// call that is not in place, if every rank has a GPU of its own.
double direct_volume(const Call& call, int nranks, int from, int to);

/// A LocalGroup::Issue. `local_calls` has all ranks, in rank order.
Status issue_direct(std::span<const LocalGroup::LocalCall> local_calls);

}  // namespace rondo
