// SPDX-License-Identifier: Apache-2.0
/**
 * @file queue.hpp
 * @brief Queues, events and CUDA streams: where calls of rondo.hpp run if not on the caller's thread.
 */
#pragma once

#include <rondo/cxx/error.hpp>

#include <memory>
#include <utility>

namespace rondo {

template <typename Errors>
class BasicQueue;

/// Where calls run: the caller's thread, a queue, or a CUDA stream. Does not own it.
class StreamRef {
 public:
  /// The caller's thread: calls return when they are done.
  StreamRef() = default;
  /// A queue, which must outlive the calls.
  template <typename Errors>
  StreamRef(const BasicQueue<Errors>& queue) noexcept : stream_(queue.get()) {}
  /// A cudaStream_t or CUstream, which must outlive the calls; null: the device's default stream.
  static StreamRef cuda(void* cuda_stream) noexcept { return StreamRef(rondo_cuda_stream(cuda_stream)); }
  /// As the C API takes it.
  rondo_stream_t get() const noexcept { return stream_; }

 private:
  explicit StreamRef(rondo_stream_t stream) noexcept : stream_(stream) {}

  rondo_stream_t stream_ = nullptr;
};

/// A point in a queue. Move-only; null after a move.
template <typename Errors>
class BasicEvent {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// One that counts as complete until it is recorded.
  static Outcome<BasicEvent> create() {
    rondo_event_t event = nullptr;
    const rondo_status_t status = rondo_event_create(&event);
    return Errors::outcome(detail::made(status, BasicEvent(event)));
  }

  /// Whether it is one, and was not moved from.
  explicit operator bool() const noexcept { return event_ != nullptr; }
  /// As the C API takes it.
  rondo_event_t get() const noexcept { return event_.get(); }

  /// It will be complete when all calls now on the queue are done.
  Outcome<void> record(const BasicQueue<Errors>& queue) {
    return Errors::outcome(detail::checked(rondo_event_record(get(), queue.get())));
  }
  /// Whether it is complete.
  Outcome<bool> is_done() const { return Errors::outcome(detail::checked_query(rondo_event_query(get()))); }
  /// Waits until it is complete.
  Outcome<void> wait() const { return Errors::outcome(detail::checked(rondo_event_synchronize(get()))); }

 private:
  explicit BasicEvent(rondo_event_t event) noexcept : event_(event) {}

  std::unique_ptr<rondo_event, detail::FreedBy<rondo_event_destroy>> event_;
};

/// Calls that run in order, on a thread of the queue's own. Move-only; null after a move. The destructor
/// completes the calls and discards their errors: synchronize() or close() reports them.
template <typename Errors>
class BasicQueue {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// An empty queue.
  static Outcome<BasicQueue> create() {
    rondo_stream_t queue = nullptr;
    const rondo_status_t status = rondo_queue_create(&queue);
    return Errors::outcome(detail::made(status, BasicQueue(queue)));
  }

  /// Whether it is one, and was not moved from.
  explicit operator bool() const noexcept { return queue_ != nullptr; }
  /// As the C API takes it.
  rondo_stream_t get() const noexcept { return queue_.get(); }

  /// Waits until all calls are done; reports the first error of a call since the last synchronization.
  Outcome<void> synchronize() { return Errors::outcome(detail::checked(rondo_queue_synchronize(get()))); }
  /// Whether all calls are done; reports the first error.
  Outcome<bool> is_done() const { return Errors::outcome(detail::checked_query(rondo_queue_query(get()))); }
  /// Later calls wait for the event as it is recorded now.
  Outcome<void> wait(const BasicEvent<Errors>& event) {
    return Errors::outcome(detail::checked(rondo_queue_wait_event(get(), event.get())));
  }
  /// Completes the calls and ends the queue; reports the first error of a call since the last
  /// synchronization.
  Outcome<void> close() { return Errors::outcome(detail::checked(rondo_queue_destroy(queue_.release()))); }

 private:
  explicit BasicQueue(rondo_stream_t queue) noexcept : queue_(queue) {}

  std::unique_ptr<rondo_stream, detail::FreedBy<rondo_queue_destroy>> queue_;
};

}  // namespace rondo
