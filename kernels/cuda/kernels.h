// The kernels by name. Each takes one struct, by value, and any grid of blocks of at most kMostThreads.
#pragma once

#include "comparison.h"
#include "fold_list.h"
#include "program.h"

namespace rondo::device {

inline constexpr uint32_t kMostThreads = 512;

/// FoldList: its stamps, then fold_all() by all threads of the grid. Its blocks do not wait for one another.
inline constexpr const char* kFoldListKernel = "rondo_fold_list";

/// CallList: in each call a block for each lane of each channel. Blocks wait for one another: the launch must
/// be cooperative. Threads of a block are whole warps.
inline constexpr const char* kExecuteKernel = "rondo_execute";

struct Ticket {
  uint64_t* counter = nullptr;  // tickets that were drawn, in memory of the device
  uint64_t* word = nullptr;     // gets the number of this one, from 1 on; the host's
};
/// Ticket: by a single thread.
inline constexpr const char* kTicketKernel = "rondo_ticket";

/// Comparison: by all threads of the grid. Its blocks do not wait for one another.
inline constexpr const char* kCompareKernel = "rondo_compare";

}  // namespace rondo::device
