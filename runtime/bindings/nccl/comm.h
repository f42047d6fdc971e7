// SPDX-License-Identifier: Apache-2.0
// ncclComm: the object behind an ncclComm_t: a communicator of the runtime and its lifecycle state. Its
// memory is reused but never freed, so a destroyed handle is distinguishable from a live one until the memory
// has a new owner. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "logger.h"
#include "nccl_abi.h"
#include "outcome.h"

struct ncclComm {
  std::atomic<uint64_t> mark{0};
  std::atomic<int> users{0};  // threads in a call on it
  std::atomic<int> jobs{0};   // unfinished tasks: its initialization, a split, a finalize

  // Written by the task that initializes it, before `jobs` is 0.
  rondo_comm_t comm = nullptr;
  int rank = -1;
  int size = 0;
  int device = -1;
  bool blocking = true;

  std::atomic<bool> revoked{false};
  std::atomic<bool> finalized{false};
  std::mutex mutex;              // guards the members below
  rondo::nccl::Outcome job_end;  // the first failure of a task
  std::string error;             // of the last call that failed
  bool abandoned = false;        // the last task frees it
  std::set<int> ops;             // created for it
};

namespace rondo::nccl {

/// A fresh handle, with no communicator yet.
ncclComm* take_handle(bool blocking);
/// Gives the handle sole ownership of a communicator.
Outcome adopt(ncclComm& handle, rondo_comm_t made);
/// Returns an unused handle to the pool.
void give_back_handle(ncclComm* comm);

/// A thread's use of a communicator, from lookup to the end of the call.
class Use {
 public:
  explicit Use(ncclComm* comm);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  /// InvalidArgument if the handle is not a live communicator.
  const Outcome& outcome() const { return outcome_; }

 private:
  ncclComm* comm_;
  Outcome outcome_;
};

/// InvalidArgument, as in NCCL, while a task on it is unfinished; the failure of its initialization, if any.
Outcome check_ready(ncclComm& comm);

/// Keeps the failure for ncclGetLastError(), logs it, and returns its code. `comm` may be null.
ncclResult_t answer(const char* call, ncclComm* comm, const Outcome& outcome);
/// The text that answer() kept; that of this thread or process if `comm` is null.
const char* last_error(ncclComm* comm);

/// Runs `body`, which returns an Outcome; no exception escapes.
template <typename Body>
ncclResult_t guarded(const char* call, ncclComm* comm, Body&& body) {
  try {
    Logger::open();
    return answer(call, comm, body());
  } catch (const std::bad_alloc&) {
    return answer(call, comm, {ncclSystemError, "out of memory"});
  } catch (const std::exception& failure) {
    return answer(call, comm, {ncclInternalError, failure.what()});
  }
}

/// The same with a live communicator in any state, which `body` receives.
template <typename Body>
ncclResult_t with_any(const char* call, ncclComm* comm, Body&& body) {
  const Use use(comm);
  const bool there = use.outcome().ok();
  return guarded(call, there ? comm : nullptr, [&] { return there ? body(*comm) : use.outcome(); });
}

/// The same with a ready communicator.
template <typename Body>
ncclResult_t with(const char* call, ncclComm* comm, Body&& body) {
  return with_any(call, comm, [&](ncclComm& known) -> Outcome {
    RONDO_NCCL_TRY(check_ready(known));
    return body(known);
  });
}

inline Outcome null_argument(const char* name) { return wrong(ncclInvalidArgument, "{} is NULL", name); }

Outcome type_of(ncclDataType_t datatype, rondo_type_t& out);
/// One of NCCL's five, or one created for this communicator.
Outcome op_of(ncclComm& comm, ncclRedOp_t op, rondo_op_t& out);

}  // namespace rondo::nccl
