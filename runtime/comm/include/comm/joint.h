// Joint calls: GPU collectives whose ranks all live in this process. They are folds over all ranks' buffers,
// so that nothing is copied on the way and no kernel waits for another. Any thread.
#pragma once

#include "comm/crew.h"
#include "kernels/device_folds.h"

namespace rondo {

inline constexpr int kMostJointRanks = static_cast<int>(DeviceFolds::kMostSources);

/// A Crew::Issue. Seats are all ranks, in their order.
Status issue_joint(std::span<const Crew::Seat> seats);

}  // namespace rondo
