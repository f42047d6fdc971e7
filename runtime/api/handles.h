// SPDX-License-Identifier: Apache-2.0
// Handles: what the C API's opaque pointers point to, and how a call's result reaches its caller. A live
// handle has a mark; its memory is reused but never freed, so a destroyed handle can be told from a live one
// until its memory is reused.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/disowned.h"
#include "comm/communicator.h"
#include "comm/prepared.h"
#include "comm/queue.h"
#include "comm/requests.h"
#include "rondo/rondo.h"

struct rondo_comm {
  uint64_t mark = 0;
  std::unique_ptr<rondo::Communicator> communicator;
  std::mutex mutex;           // guards last_error and error_number
  std::string last_error;     // of calls on this communicator
  uint64_t error_number = 0;  // its number; initially that of the latest error when the handle was made
};

struct rondo_stream {
  uint64_t mark = 0;
  std::unique_ptr<rondo::Queue> queue;
};

struct rondo_event {
  uint64_t mark = 0;
  std::unique_ptr<rondo::QueueEvent> event;
};

struct rondo_request {
  uint64_t mark = 0;
  std::shared_ptr<rondo::Requests> requests;
  std::shared_ptr<rondo::Request> request;
  std::shared_ptr<rondo::Prepared> prepared;  // null: of a message that was started
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
    static auto& pool = *new HandlePool;  // leaked: handles may outlive static objects
    return pool;
  }
  Handle* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      // So that give_back() never allocates.
      if (free_.capacity() <= all_.size()) free_.reserve(2 * all_.size() + 16);
      return &all_.emplace_back();
    }
    Handle* handle = free_.back();
    free_.pop_back();
    return handle;
  }
  /// The handle must be empty and unmarked.
  void give_back(Handle* handle) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::deque<Handle> all_;
  std::vector<Handle*> free_;
};

/// The communicator of a handle; an error if calls may not use it.
Status why_not_live(rondo_comm_t comm);
inline Result<Communicator*> live(rondo_comm_t comm) {
  if (comm == nullptr || comm->mark != kCommMark) return why_not_live(comm);
  Communicator* const communicator = comm->communicator.get();
  if (communicator->membership().failed() || communicator->finalized()) [[unlikely]]
    return why_not_live(comm);
  return communicator;
}
/// The queue of a handle; null for NULL.
Result<Queue*> queue_of(rondo_stream_t stream);
/// The same; if the handle is a CUDA stream, sets it in `place` and returns null.
Result<Queue*> place_of(rondo_stream_t stream, CallPlace& place);
Status check_event(rondo_event_t event);
Status null_argument(const char* name);
/// Of an argument `collective`.
Result<CollectiveKind> kind_of(const char* collective);

/// The result of a call that ran out of memory; its communicator fails, since other ranks wait for this one.
Status unmade(rondo_comm_t comm);

/// Stores the message for rondo_last_error() and returns the C API's code. `call` names the function.
rondo_status_t answer(const char* call, const Status& status, rondo_comm_t comm = nullptr);

/// The number of the process's latest error.
uint64_t latest_error_number();
/// Record the error that answer() has just stored: of a call that a group would have collected, or of one
/// that names no communicator and may concern any that this thread uses.
void note_refused(rondo_status_t status);
void note_for_thread();

/// Runs `body`, a callable that returns Status; no exception escapes from the C API.
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

/// The same for a call without a communicator: rondo_last_error() reports its error for any communicator that
/// this thread asks about.
template <typename Body>
rondo_status_t guarded_for_thread(const char* call, Body&& body) {
  const rondo_status_t status = guarded(call, nullptr, std::forward<Body>(body));
  if (status != RONDO_OK && status != RONDO_IN_PROGRESS) note_for_thread();
  return status;
}

}  // namespace rondo::api
