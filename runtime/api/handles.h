// Handles: what the C API's opaque pointers point to, and how a call's outcome reaches its caller. A handle
// starts with a mark, so that NULL and freed ones are told from live ones, as far as that can be.
#pragma once

#include <mutex>
#include <string>

#include "comm/communicator.h"
#include "comm/queue.h"
#include "rondo/rondo.h"

struct rondo_comm {
  uint64_t mark;
  std::unique_ptr<rondo::Communicator> communicator;
  std::mutex mutex;        // guards last_error
  std::string last_error;  // of calls on this communicator
};

struct rondo_stream {
  uint64_t mark;
  rondo::Queue queue;
};

struct rondo_event {
  uint64_t mark;
  rondo::Event event;
};

namespace rondo::api {

inline constexpr uint64_t kCommMark = 0x6d6f636f646e6f72;
inline constexpr uint64_t kStreamMark = 0x657565716f646e72;
inline constexpr uint64_t kEventMark = 0x746e65766f646e72;

/// The communicator of a handle that calls may use.
Result<Communicator*> live(rondo_comm_t comm);
/// The queue of a handle; null for NULL.
Result<Queue*> queue_of(rondo_stream_t stream);
Status check_event(rondo_event_t event);
Status null_argument(const char* name);

/// Keeps the sentence for rondo_last_error() and gives the C API's number. `call` names the function.
rondo_status_t answer(const char* call, const Status& status, rondo_comm_t comm = nullptr);

/// Runs `body`, a callable that returns Status; no exception leaves the C API.
template <typename Body>
rondo_status_t guarded(const char* call, rondo_comm_t comm, Body&& body) {
  try {
    return answer(call, body(), comm);
  } catch (const std::bad_alloc&) {
    return answer(call, Status(Code::OutOfMemory, "memory could not be had"), comm);
  } catch (const std::exception& failure) {
    return answer(call, Status(Code::InternalError, failure.what()), comm);
  }
}

}  // namespace rondo::api
