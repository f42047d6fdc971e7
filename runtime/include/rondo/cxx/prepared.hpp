// SPDX-License-Identifier: Apache-2.0
/**
 * @file prepared.hpp
 * @brief Calls that are prepared once and made again and again: Prepared.
 */
#pragma once

#include <rondo/cxx/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace rondo {

template <typename Errors>
class BasicGroup;

/// The calls of a group, prepared by Group::prepare(). Move-only; null after a move.
///
/// Buffers and receipts of the calls must outlive it. So that this holds when a scope is left early, the
/// destructor waits until the calls are complete if they were started, at most for the communicator's
/// timeout, and discards their error: declare it after them.
template <typename Errors>
class BasicPrepared {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// Whether it is one, and was not moved from.
  explicit operator bool() const noexcept { return request_ != nullptr; }
  /// As the C API takes it.
  rondo_request_t get() const noexcept { return request_.get(); }

  /// Makes the calls; returns when they are done.
  Outcome<void> run() const { return Errors::outcome(detail::checked(rondo_request_run(get()))); }
  /// Starts the calls, which progress in the background.
  Outcome<void> start() const { return Errors::outcome(detail::checked(rondo_request_start(get()))); }

  /// Waits until the calls that were started are complete; reports their error. Any number of threads.
  Outcome<void> wait() const { return Errors::outcome(detail::checked(rondo_request_wait(get(), 0))); }
  /// Waits for this time at most; whether the calls are complete. Any number of threads.
  template <typename Rep, typename Period>
  Outcome<bool> wait_for(std::chrono::duration<Rep, Period> time) const {
    const std::int64_t ms = std::chrono::ceil<std::chrono::duration<std::int64_t, std::milli>>(time).count();
    return Errors::outcome(
        detail::checked_query(ms > 0 ? rondo_request_wait(get(), ms) : rondo_request_query(get())));
  }
  /// Whether the calls are complete; reports their error. Any thread.
  Outcome<bool> is_done() const { return Errors::outcome(detail::checked_query(rondo_request_query(get()))); }

 private:
  friend class BasicGroup<Errors>;

  struct Ending {
    void operator()(rondo_request_t request) const noexcept {
      rondo_request_wait(request, 0);
      rondo_request_free(request);
    }
  };

  explicit BasicPrepared(rondo_request_t request) noexcept : request_(request) {}

  std::unique_ptr<rondo_request, Ending> request_;
};

}  // namespace rondo
