// SPDX-License-Identifier: Apache-2.0
// A collective of ranks that can access one another's memory, as folds over all their buffers: each fold
// reads its operands in place and writes the result to its destination, so nothing waits. Operands are
// combined in rank order, as in the one-shot and two-shot algorithms. Pure functions: any thread.
#pragma once

#include <vector>

#include "call/call.h"
#include "kernels/device_folds.h"

namespace rondo {

/// One rank's part of the call.
struct DirectCall {
  const Call* call = nullptr;
  int device = 0;
};

/// Folds for one device.
struct DirectFolds {
  int device = 0;
  DeviceFolds folds;
};

/// The launches of all ranks together. `calls`: by rank, with equal signatures. Launches of one device must
/// run in this order; those of different devices are independent. Mismatch if ranks disagree about the
/// lengths of blocks of a _v form.
Result<std::vector<DirectFolds>> direct_folds(const std::vector<DirectCall>& calls);

}  // namespace rondo
