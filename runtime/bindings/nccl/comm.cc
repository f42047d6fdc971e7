// SPDX-License-Identifier: Apache-2.0
#include "comm.h"

#include <deque>
#include <vector>

#include "group.h"

namespace rondo::nccl {
namespace {

constexpr uint64_t kMark = 0x6c63636e6f646e72;

struct Handles {
  std::mutex mutex;
  std::deque<ncclComm> all;
  std::vector<ncclComm*> free;
};

Handles& handles() {
  static auto& one = *new Handles;  // handles may outlive everything else in the process
  return one;
}

/// The last error of the process, as NCCL keeps it; each thread also keeps its own.
struct LastError {
  std::mutex mutex;
  std::string text;
};

LastError& process_error() {
  static auto& one = *new LastError;
  return one;
}

thread_local std::string thread_error;
thread_local std::string handed_out;  // what ncclGetLastError() has returned

}  // namespace

ncclComm* take_handle(bool blocking) {
  const std::lock_guard lock(handles().mutex);
  ncclComm* comm = nullptr;
  if (handles().free.empty()) {
    handles().free.reserve(handles().all.size() + 1);  // so that give_back_handle() never allocates
    comm = &handles().all.emplace_back();
  } else {
    comm = handles().free.back();
    handles().free.pop_back();
  }
  comm->blocking = blocking;
  comm->mark.store(kMark);
  return comm;
}

Outcome adopt(ncclComm& handle, rondo_comm_t made) {
  rondo_rank(made, &handle.rank);
  rondo_size(made, &handle.size);
  rondo_device(made, &handle.device);
  Logger::info(fmt::format("communicator {}: rank {} of {}, {}", static_cast<void*>(&handle), handle.rank,
                           handle.size,
                           handle.device < 0 ? "host memory" : fmt::format("GPU {}", handle.device)));
  const std::lock_guard lock(handle.mutex);
  handle.comm = made;
  return {};
}

void give_back_handle(ncclComm* comm) {
  comm->comm = nullptr;
  comm->rank = -1;
  comm->size = 0;
  comm->device = -1;
  comm->revoked.store(false);
  comm->finalized.store(false);
  comm->job_end = {};
  comm->error.clear();
  comm->abandoned = false;
  comm->ops.clear();
  const std::lock_guard lock(handles().mutex);
  handles().free.push_back(comm);
}

Use::Use(ncclComm* comm) : comm_(comm) {
  if (comm == nullptr) {
    outcome_ = null_argument("comm");
    return;
  }
  // Counted before the mark is read: the thread that ends it clears the mark, then waits for users.
  comm->users.fetch_add(1);
  if (comm->mark.load() == kMark) return;
  comm->users.fetch_sub(1);
  comm_ = nullptr;
  outcome_ = wrong(ncclInvalidArgument, "comm is not a communicator, or one that was destroyed");
}

Use::~Use() {
  if (comm_ != nullptr) comm_->users.fetch_sub(1);
}

Outcome check_ready(ncclComm& comm) {
  if (comm.jobs.load() != 0)
    return wrong(ncclInvalidArgument,
                 "the communicator is not ready: ncclCommGetAsyncError() still says ncclInProgress");
  const std::lock_guard lock(comm.mutex);
  if (comm.comm == nullptr) return comm.job_end;
  if (comm.revoked.load())
    return wrong(ncclInvalidUsage, "the communicator was revoked: it can only be shrunk, split or destroyed");
  if (comm.finalized.load())
    return wrong(ncclInvalidUsage, "the communicator was finalized: it can only be destroyed");
  return {};
}

ncclResult_t answer(const char* call, ncclComm* comm, const Outcome& outcome) {
  if (outcome.ok() || outcome.result == ncclInProgress) return outcome.result;
  thread_error = fmt::format("{}: {}", call, outcome.text);
  GroupCalls::note_failure(outcome);
  {
    const std::lock_guard lock(process_error().mutex);
    process_error().text = thread_error;
  }
  if (comm != nullptr) {
    const std::lock_guard lock(comm->mutex);
    comm->error = thread_error;
  }
  Logger::warn(thread_error);
  return outcome.result;
}

const char* last_error(ncclComm* comm) {
  handed_out.clear();
  if (comm != nullptr) {
    const Use use(comm);
    if (use.outcome().ok()) {
      const std::lock_guard lock(comm->mutex);
      handed_out = comm->error.empty() ? comm->job_end.text : comm->error;
      // Includes a failure that no call has reported yet.
      if (handed_out.empty() && comm->jobs.load() == 0 && comm->comm != nullptr)
        handed_out = rondo_last_error(comm->comm);
    }
  }
  if (handed_out.empty()) handed_out = thread_error;
  if (handed_out.empty()) {
    const std::lock_guard lock(process_error().mutex);
    handed_out = process_error().text;
  }
  return handed_out.c_str();
}

}  // namespace rondo::nccl
