// SPDX-License-Identifier: Apache-2.0
#include "handles.h"

#include <atomic>

#include "base/error_kinds.h"
#include "comm/group.h"
#include "health/flight_file.h"
#include "health/trace.h"

namespace rondo::api {
namespace {

/// Whether this thread's other thread_local objects are destroyed: exit() handlers may still call the C API.
/// Trivially destructible, so it stays valid.
thread_local bool is_thread_over = false;

/// The latest error of this thread's functions for groups and queues, which name no communicator.
struct GroupError {
  std::string text;
  uint64_t number = 0;
};

struct ThreadErrors {
  ~ThreadErrors() { is_thread_over = true; }
  std::string latest;
  GroupError of_group;
};
thread_local ThreadErrors thread_errors;

/// Errors are numbered to tell which of two is the later.
std::atomic<uint64_t> errors{0};

/// The handle of a CUDA stream is its address with this bit set, which no address has.
constexpr uintptr_t kCudaStreamBit = 1;

bool is_cuda_stream(rondo_stream_t stream) {
  return (reinterpret_cast<uintptr_t>(stream) & kCudaStreamBit) != 0;
}

}  // namespace

Status why_not_live(rondo_comm_t comm) {
  if (comm == nullptr) return null_argument("comm");
  if (comm->mark != kCommMark)
    return Status(ErrorKind::NoSuchHandle, "comm is not a communicator, or one that was destroyed");
  if (comm->communicator->membership().failed()) return comm->communicator->membership().cause();
  if (comm->communicator->only_quiesced())
    return Status(ErrorKind::CommFinished,
                  "rondo_quiesce() has ended the calls on comm; only rondo_leave(), rondo_destroy() and the "
                  "queries are allowed now");
  return Status(ErrorKind::CommFinished, "comm was finalized; only rondo_destroy() is allowed now");
}

Result<Queue*> queue_of(rondo_stream_t stream) {
  if (stream == nullptr) return static_cast<Queue*>(nullptr);
  if (is_cuda_stream(stream))
    return Status(ErrorKind::RankWithoutGpu, "stream is a CUDA stream, which is not possible here");
  if (stream->mark != kStreamMark)
    return Status(ErrorKind::NoSuchHandle,
                  "stream is not a queue from rondo_queue_create(), or one that was destroyed");
  return stream->queue.get();
}

Result<Queue*> place_of(rondo_stream_t stream, CallPlace& place) {
  if (!is_cuda_stream(stream)) return queue_of(stream);
  place.on_stream = true;
  place.stream = reinterpret_cast<gpu::Stream>(reinterpret_cast<uintptr_t>(stream) & ~kCudaStreamBit);
  return static_cast<Queue*>(nullptr);
}

Status check_event(rondo_event_t event) {
  if (event == nullptr) return null_argument("event");
  if (event->mark != kEventMark)
    return Status(ErrorKind::NoSuchHandle, "event is not one from rondo_event_create(), or it was destroyed");
  return {};
}

Status unmade(rondo_comm_t comm) {
  if (comm == nullptr || comm->mark != kCommMark) return out_of_memory();
  return comm->communicator->membership().fail(out_of_memory());
}

Status null_argument(const char* name) { return error(ErrorKind::NullArgument, "{} is NULL", name); }

rondo_status_t answer(const char* call, const Status& status, rondo_comm_t comm) {
  if (status.ok() || status.code() == Code::InProgress) return static_cast<rondo_status_t>(status.code());
  const bool known = comm != nullptr && comm->mark == kCommMark;
  await_flight_file();  // the caller may end the process
  if (known && comm->communicator->membership().failed()) flush_trace();
  const std::string text = fmt::format(
      "{}: {}", call, (known ? comm->communicator->membership().recorder().named(status) : status).text());
  if (!is_thread_over) thread_errors.latest = text;
  if (known) {
    std::lock_guard lock(comm->mutex);
    comm->last_error = fmt::format("rank {}: {}", comm->communicator->rank(), text);
    comm->error_number = ++errors;
  }
  return static_cast<rondo_status_t>(status.code());
}

uint64_t latest_error_number() { return errors.load(); }

void note_refused(rondo_status_t status) {
  if (!is_thread_over) note_refusal(Status::of_text(static_cast<Code>(status), thread_errors.latest));
}

void note_for_thread() {
  if (!is_thread_over) thread_errors.of_group = {thread_errors.latest, ++errors};
}

}  // namespace rondo::api

using rondo::api::is_thread_over;
using rondo::api::thread_errors;

rondo_stream_t rondo_cuda_stream(void* cuda_stream) {
  return reinterpret_cast<rondo_stream_t>(reinterpret_cast<uintptr_t>(cuda_stream) |
                                          rondo::api::kCudaStreamBit);
}

const char* rondo_last_error(rondo_comm_t comm) {
  // A forked child may have inherited the mutex locked, by a thread that the child lacks.
  if (rondo::is_disowned() || comm == nullptr || comm->mark != rondo::api::kCommMark)
    return is_thread_over ? "" : thread_errors.latest.c_str();
  std::lock_guard lock(comm->mutex);
  if (!is_thread_over && thread_errors.of_group.number > comm->error_number) {
    const auto& [text, number] = thread_errors.of_group;
    comm->last_error = fmt::format("rank {}: {}", comm->communicator->rank(), text);
    comm->error_number = number;
  }
  // Includes a failure that no call has reported yet.
  if (comm->last_error.empty() && comm->communicator->membership().failed())
    comm->last_error = comm->communicator->membership().cause().text();
  return comm->last_error.c_str();
}
