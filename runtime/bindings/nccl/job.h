// Job: what takes time and other ranks: a start, a split, a finalize. A blocking one ends before its call
// returns; one of a non-blocking communicator has a thread; those of a group run side by side when it ends,
// since one thread may start several ranks.
#pragma once

#include <functional>
#include <vector>

#include "comm.h"

namespace rondo::nccl {

struct Job {
  ncclComm* comm = nullptr;      // the one that it is about
  ncclComm* parent = nullptr;    // what it is made from; null: nothing
  ncclComm_t* target = nullptr;  // where the caller finds `comm`; null: it has it already
  bool blocking = true;
  std::function<Outcome()> run;  // on whatever thread
};

/// Runs it, or leaves it to the group of this thread. InProgress where it goes on in the background.
Outcome submit(Job job);

/// Those of one parent one after the other, all others at the same time.
Outcome run_all(std::vector<Job> jobs);
/// They are not made after all.
void drop_all(std::vector<Job> jobs);

/// Ends what the handle has and gives it back: at once, or when its jobs and calls are over.
void discard(ncclComm* comm);
/// Waits until no thread is in a call on it; false where one is still after ten seconds.
bool await_unused(const ncclComm& comm);

/// For a start, or for ranks that join a communicator which grows.
Outcome get_unique_id(ncclUniqueId* id);

}  // namespace rondo::nccl
