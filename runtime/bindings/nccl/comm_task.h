// SPDX-License-Identifier: Apache-2.0
// CommTask: an operation that takes time and involves other ranks: an initialization, a split, a finalize. A
// blocking one ends before its call returns; one on a non-blocking communicator has its own thread; those of
// a group run concurrently when it ends, since one thread may initialize several ranks.
#pragma once

#include <functional>
#include <vector>

#include "comm.h"

namespace rondo::nccl {

struct CommTask {
  ncclComm* comm = nullptr;      // the communicator it operates on
  ncclComm* parent = nullptr;    // the one it is made from; null: none
  ncclComm_t* target = nullptr;  // where the caller expects `comm`; null: the caller already has it
  bool blocking = true;
  std::function<Outcome()> run;  // on any thread
};

/// Runs it, or adds it to this thread's open group. InProgress if it continues in the background.
Outcome submit(CommTask job);

/// Runs tasks with the same parent in order, all others concurrently.
Outcome run_all(std::vector<CommTask> jobs);
/// Fails the tasks without running them.
void drop_all(std::vector<CommTask> jobs);

/// Aborts the handle's communicator and frees it: at once, or when its tasks and calls are done.
void discard(ncclComm* comm);
/// Waits until no thread is in a call on it; false if one still is after ten seconds.
bool await_unused(const ncclComm& comm);

/// For an initialization, or for ranks that join a growing communicator.
Outcome get_unique_id(ncclUniqueId* id);

}  // namespace rondo::nccl
