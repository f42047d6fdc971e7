// Handles: what the C API's opaque pointers point to, and how a call's outcome reaches its caller. A handle
// has a mark while it lives; its memory is used again but never given back, so that one which was destroyed
// is told from a live one until its memory has a new owner.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/disowned.h"
#include "comm/communicator.h"
#include "comm/queue.h"
#include "comm/requests.h"
#include "rondo/rondo.h"

struct rondo_comm {
  uint64_t mark = 0;
  std::unique_ptr<rondo::Communicator> communicator;
  std::mutex mutex;           // guards what follows
  std::string last_error;     // of calls on this communicator
  uint64_t error_number = 0;  // of that, or of the latest error when the handle was made
};

struct rondo_stream {
  uint64_t mark = 0;
  std::unique_ptr<rondo::Queue> queue;
};

struct rondo_event {
  uint64_t mark = 0;
  std::unique_ptr<rondo::Event> event;
};

struct rondo_request {
  uint64_t mark = 0;
  std::shared_ptr<rondo::Requests> requests;
  std::shared_ptr<rondo::Request> request;
};

namespace rondo::api {

inline constexpr uint64_t kCommMark = 0x6d6f636f646e6f72;
inline constexpr uint64_t kStreamMark = 0x657565716f646e72;
inline constexpr uint64_t kEventMark = 0x746e65766f646e72;
inline constexpr uint64_t kRequestMark = 0x747365716f646e72;

/// The memory of one kind of handle. Any thread.
template <typename Handle>
class HandlePool {
 public:
  static HandlePool& get() {
    static auto& pool = *new HandlePool;  // handles may outlive everything else in the process
    return pool;
  }
  Handle* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      // So that give_back() needs no memory.
      if (free_.capacity() <= all_.size()) free_.reserve(2 * all_.size() + 16);
      return &all_.emplace_back();
    }
    Handle* handle = free_.back();
    free_.pop_back();
    return handle;
  }
  /// The handle is empty and unmarked.
  void give_back(Handle* handle) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::deque<Handle> all_;
  std::vector<Handle*> free_;
};

/// The communicator of a handle that calls may use.
Result<Communicator*> live(rondo_comm_t comm);
/// The communicator of a handle that calls may use, if all its calls are on host memory; null: it has to be
/// looked at.
Communicator* live_on_host(rondo_comm_t comm);
/// The queue of a handle; null for NULL.
Result<Queue*> queue_of(rondo_stream_t stream);
/// The same, or the CUDA stream that the handle stands for, which `place` notes.
Result<Queue*> place_of(rondo_stream_t stream, CallPlace& place);
/// The outcome of placing a call. A GPU that is lost is not the call's fault, and the other ranks wait for
/// it: the communicator fails.
Status unless_lost(Communicator& communicator, const Status& placed);

Status check_event(rondo_event_t event);
Status null_argument(const char* name);

/// The outcome of a call for which there was no memory: its communicator has failed.
Status unmade(rondo_comm_t comm);

/// Keeps the sentence for rondo_last_error() and gives the C API's number. `call` names the function.
rondo_status_t answer(const char* call, const Status& status, rondo_comm_t comm = nullptr);

/// The number of the latest error of the process.
uint64_t latest_error_number();
/// The error that answer() has just kept: of a call that a group would have collected; of one that names no
/// communicator and may concern any that this thread uses.
void note_refused(rondo_status_t status);
void note_for_thread();

/// Runs `body`, a callable that returns Status; no exception leaves the C API.
template <typename Body>
rondo_status_t guarded(const char* call, rondo_comm_t comm, Body&& body) {
  try {
    if (is_disowned()) [[unlikely]]
      return answer(call, refuse_disowned());
    return answer(call, body(), comm);
  } catch (const std::bad_alloc&) {
    return answer(call, unmade(comm), comm);
  } catch (const std::exception& failure) {
    return answer(call, Status(Code::InternalError, failure.what()), comm);
  }
}

/// The same for a call that a group collects.
template <typename Body>
rondo_status_t collected(const char* call, rondo_comm_t comm, Body&& body) {
  const rondo_status_t status = guarded(call, comm, std::forward<Body>(body));
  if (status != RONDO_OK) note_refused(status);
  return status;
}

/// The same for a call of no communicator, of which rondo_last_error() tells all that the thread asks about.
template <typename Body>
rondo_status_t guarded_for_thread(const char* call, Body&& body) {
  const rondo_status_t status = guarded(call, nullptr, std::forward<Body>(body));
  if (status != RONDO_OK) note_for_thread();
  return status;
}

}  // namespace rondo::api
