// SPDX-License-Identifier: Apache-2.0
// PullCall: a PullPlan in bytes, for calls that differ only in their buffers and sequence numbers. Used by
// the thread that makes the calls.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "exec/call_args.h"
#include "kernels/reduce.h"
#include "schedule/pull_plan.h"

namespace rondo {

/// One round of a call, in bytes, followed by the next round. Calls that differ only in their buffers and
/// sequence numbers use the same object.
struct PullCall {
  struct PullSource {
    int rank = 0;
    size_t offset = 0;  // in that rank's post
  };
  struct PullOperand {
    size_t offset = 0;  // in the Output
    size_t bytes = 0;
    size_t first = 0;  // index of its first source
    size_t sources = 0;
    bool is_copy = false;           // of one source, unchanged
    ReduceKernel kernel = nullptr;  // null: a copy, or by a user's function
    ReduceArgs whole;               // of the kernel, but for pointers
  };
  /// The call must have a single tile, and an Input of at most MailboxTable::kMaxBytes.
  PullCall(const PullPlan& plan, const CallArgs& binding, int rank, size_t round = 0);
  /// Sets the next call's buffers.
  void use(const void* send, void* recv);

  bool posts;
  bool mutual;
  size_t place = 0;    // of the posted data in the mailbox; 0: it is in bulk
  size_t piece_bytes;  // of data in bulk, published and folded at a time
  size_t posted_bytes = 0;
  std::vector<PullOperand> reads;  // first those of this rank's data alone
  size_t own_reads = 0;            // how many those are
  std::vector<PullSource> sources;
  std::vector<int> peers;  // the sources' ranks, without this one
  CallType type;
  CallOp op;
  bool scales;  // the posted data

  const std::byte* input = nullptr;  // the data to post
  std::byte* output = nullptr;

  std::unique_ptr<PullCall> next;
  size_t next_posts = 0;  // offset, in the Output, of the next round's post
};

}  // namespace rondo
