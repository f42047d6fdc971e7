// A collective of ranks that reach one another's memory, as folds over all their buffers: every result is
// read from where its operands lie and written where it is wanted, so nothing waits for anything. It combines
// in the order of the ranks, as the one-shot and two-shot algorithms do. Pure functions: any thread.
#pragma once

#include <vector>

#include "comm/call.h"
#include "kernels/device_folds.h"

namespace rondo {

/// One rank's part of it.
struct JointCall {
  const Call* call = nullptr;
  int device = 0;
};

/// Folds for one device.
struct JointFolds {
  int device = 0;
  DeviceFolds folds;
};

/// What all ranks together have to do; `calls` by rank, the same call at all of them as far as signatures
/// say. The launches of one device are to be carried out in their order; those of different devices do not
/// depend on one another. Mismatch where blocks of a _v form have other lengths at other ranks.
Result<std::vector<JointFolds>> joint_folds(const std::vector<JointCall>& calls);

}  // namespace rondo
