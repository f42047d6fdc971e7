// SPDX-License-Identifier: Apache-2.0
// The plan of a staged call: what one rank's GPU copies into its staging for which peers, and what it does
// with the data in theirs. Data that a peer can read through one of the rank's windows is not copied: the
// stamp says where it is. Operands are combined in rank order, as in direct calls. A rank's plan depends only
// on its own call and windows. Any thread.
#pragma once

#include <vector>

#include "call/call.h"
#include "exported_windows.h"
#include "kernels/device_folds.h"
#include "staging.h"

namespace rondo {

/// The staging of all ranks, at its addresses for one rank's device.
struct StagingView {
  StagingGeometry geometry;
  int self = 0;
  std::vector<std::byte*> staging;  // by rank
  RankWords* words = nullptr;       // this rank's
  const ExportedWindows* windows = nullptr;
};

/// One tile: produce, signal readers; wait for writers, consume, signal that they may write again.
struct StagedRound {
  int slot = 0;
  std::vector<int> readers;  // of this rank's slot
  std::vector<int> writers;  // ranks whose slots this rank reads
  std::vector<DeviceFolds> produce;
  std::vector<DeviceFolds> consume;
};

struct StagedPlan {
  std::vector<StagedRound> rounds;
  bool stages = false;    // some data is copied into this rank's staging
  bool in_place = false;  // peers read some data in place
};

/// Rounds are in the same order at all ranks; a rank's plan omits those in which it has no part.
StagedPlan plan_staged(const Call& call, const Signature& signature, const StagingView& view);

/// Whether the call is an all_reduce in two steps; depends only on its signature.
bool in_two_steps(const Call& call, int nranks);

}  // namespace rondo
