// ncclComm: what an ncclComm_t points to: a communicator of the runtime, and where it is in its life. Its
// memory is used again but never given back, so that a handle which was destroyed is told from a live one
// until its memory has a new owner. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "journal.h"
#include "nccl_abi.h"
#include "outcome.h"

struct ncclComm {
  std::atomic<uint64_t> mark{0};
  std::atomic<int> users{0};  // threads in a call on it
  std::atomic<int> jobs{0};   // that were begun and are not over: its start, a split, a finalize

  // Written by the job that starts it, before `jobs` is 0.
  rondo_comm_t comm = nullptr;
  int rank = -1;
  int size = 0;
  int device = -1;
  bool blocking = true;

  std::atomic<bool> revoked{false};
  std::atomic<bool> finalized{false};
  std::mutex mutex;              // guards what follows
  rondo::nccl::Outcome job_end;  // the first failure of a job
  std::string error;             // of the last call that failed
  bool abandoned = false;        // who ends the last job frees it
  std::set<int> ops;             // made for it
};

namespace rondo::nccl {

/// A fresh handle, without a communicator yet.
ncclComm* take_handle(bool blocking);
/// Makes the handle that of a communicator, which must be one that nobody else has.
Outcome adopt(ncclComm& handle, rondo_comm_t made);
/// Nobody uses it any more.
void give_back_handle(ncclComm* comm);

/// A thread's use of a communicator, from its look-up to the call's end.
class Use {
 public:
  explicit Use(ncclComm* comm);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  /// InvalidArgument where the handle is none.
  const Outcome& outcome() const { return outcome_; }

 private:
  ncclComm* comm_;
  Outcome outcome_;
};

/// InvalidArgument, as for NCCL, while a job on it is not over; what the job came to where that failed.
Outcome check_ready(ncclComm& comm);

/// Keeps the failure for ncclGetLastError(), logs it, and gives its number. `comm` may be null.
ncclResult_t answer(const char* call, ncclComm* comm, const Outcome& outcome);
/// The text that answer() kept; of this thread or process where `comm` is null.
const char* last_error(ncclComm* comm);

/// Runs `body`, which gives an Outcome; no exception leaves.
template <typename Body>
ncclResult_t guarded(const char* call, ncclComm* comm, Body&& body) {
  try {
    Journal::open();
    return answer(call, comm, body());
  } catch (const std::bad_alloc&) {
    return answer(call, comm, {ncclSystemError, "out of memory"});
  } catch (const std::exception& failure) {
    return answer(call, comm, {ncclInternalError, failure.what()});
  }
}

/// The same with a communicator that is there, in whatever state; `body` gets it.
template <typename Body>
ncclResult_t with_any(const char* call, ncclComm* comm, Body&& body) {
  const Use use(comm);
  const bool there = use.outcome().ok();
  return guarded(call, there ? comm : nullptr, [&] { return there ? body(*comm) : use.outcome(); });
}

/// The same with a communicator that is ready.
template <typename Body>
ncclResult_t with(const char* call, ncclComm* comm, Body&& body) {
  return with_any(call, comm, [&](ncclComm& known) -> Outcome {
    RONDO_NCCL_TRY(check_ready(known));
    return body(known);
  });
}

inline Outcome null_argument(const char* name) { return wrong(ncclInvalidArgument, "{} is NULL", name); }

}  // namespace rondo::nccl
