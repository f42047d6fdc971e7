// The plan of a phased call: what one rank's GPU copies into its staging, for whom, and what it makes of what
// others have left in theirs. What a peer sees in one of the rank's windows is not copied: its stamp says
// where it is. Operands are combined in the order of the ranks, as in joint calls. A rank's plan depends on
// its own call and windows alone. Any thread.
#pragma once

#include <vector>

#include "comm/call.h"
#include "comm/own_windows.h"
#include "comm/staging.h"
#include "kernels/device_folds.h"

namespace rondo {

/// As one rank's device sees it.
struct StagingView {
  StagingGeometry geometry;
  int self = 0;
  std::vector<std::byte*> staging;  // by rank
  RankWords* words = nullptr;       // own
  const OwnWindows* windows = nullptr;
};

/// One tile: produce, tell readers that it is there; wait for writers, consume, tell them that they may write
/// again.
struct PhasedRound {
  int slot = 0;
  std::vector<int> readers;  // of the own slot
  std::vector<int> writers;  // whose slots are read
  std::vector<DeviceFolds> produce;
  std::vector<DeviceFolds> consume;
};

struct PhasedPlan {
  std::vector<PhasedRound> rounds;
  bool stages = false;    // something is copied into the own staging
  bool in_place = false;  // peers read something where it is
};

/// Rounds come in the same order at all ranks; those in which a rank has no part, it has not.
PhasedPlan plan_phased(const Call& call, const Signature& signature, const StagingView& view);

/// Tells from the signature alone how a call is carried out: whether it is in two steps.
bool in_two_steps(const Call& call, int nranks);

}  // namespace rondo
