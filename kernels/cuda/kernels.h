// SPDX-License-Identifier: Apache-2.0
// The kernels by name. Each takes one struct by value, and any grid of blocks of at most kMaxThreads.
#pragma once

#include "comparison.h"
#include "fold_list.h"
#include "program.h"

namespace rondo::device {

inline constexpr uint32_t kMaxThreads = 512;

/// Takes a FoldList: handles its stamps, then fold_all() by all threads of the grid. Blocks never wait for
/// one another.
inline constexpr const char* kFoldListKernel = "rondo_fold_list";

/// Takes a CallList: each call has a block for each lane of each channel. Blocks wait for one another, so the
/// launch must be cooperative. A block's threads must form whole warps.
inline constexpr const char* kExecuteKernel = "rondo_execute";

struct Ticket {
  uint64_t* counter = nullptr;  // tickets drawn so far; in device memory
  uint64_t* word = nullptr;     // receives this ticket's number, from 1; in host memory
};
/// Takes a Ticket; runs on a single thread.
inline constexpr const char* kTicketKernel = "rondo_ticket";

/// Takes a Comparison; runs on all threads of the grid. Blocks never wait for one another.
inline constexpr const char* kCompareKernel = "rondo_compare";

}  // namespace rondo::device
