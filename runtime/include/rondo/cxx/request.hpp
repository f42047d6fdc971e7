// SPDX-License-Identifier: Apache-2.0
/**
 * @file request.hpp
 * @brief Messages that were started: Request.
 */
#pragma once

#include <rondo/cxx/calls.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

namespace rondo {

template <typename Errors>
class BasicCommunicator;

/// A send or receive that was started. Move-only; null after a move.
///
/// The message's buffer must outlive it. So that this holds when a scope is left early, the destructor waits
/// until the message is complete, at most for the communicator's timeout, and discards its error: declare
/// requests after their buffers. detach() gives that up.
template <typename Errors>
class BasicRequest {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// Whether it is one, and was neither moved from nor detached.
  explicit operator bool() const noexcept { return request_ != nullptr; }
  /// As the C API takes it.
  rondo_request_t get() const noexcept { return request_.get(); }

  /// Waits until the message is complete; reports its error. Any number of threads.
  Outcome<void> wait() const { return Errors::outcome(detail::checked(rondo_request_wait(get(), 0))); }
  /// Waits for this time at most; whether the message is complete. Any number of threads.
  template <typename Rep, typename Period>
  Outcome<bool> wait_for(std::chrono::duration<Rep, Period> time) const {
    const std::int64_t ms = std::chrono::ceil<std::chrono::duration<std::int64_t, std::milli>>(time).count();
    return Errors::outcome(
        detail::checked_query(ms > 0 ? rondo_request_wait(get(), ms) : rondo_request_query(get())));
  }
  /// Whether the message is complete; reports its error. Any thread.
  Outcome<bool> is_done() const { return Errors::outcome(detail::checked_query(rondo_request_query(get()))); }

  /// What a receive has matched; to be read once the message is complete. Zeros of a send.
  Receipt receipt() const noexcept {
    const auto& receipt = request_.get_deleter().receipt;
    return receipt != nullptr ? *receipt : Receipt{};
  }

  /// Calls `told(code, sentence)` once, when the message completes: on the thread that detects it or, if the
  /// message is complete already, on this one before returning. It must neither wait nor throw. wait() may
  /// return before it: what `told` refers to must outlive it.
  template <std::invocable<Code, std::string_view> F>
  Outcome<void> on_completion(F told) const {
    auto kept = std::make_unique<F>(std::move(told));
    const rondo_status_t status = rondo_request_tell(get(), &tell<F>, kept.get());
    if (status == RONDO_OK) static_cast<void>(kept.release());  // tell() frees it
    return Errors::outcome(detail::checked(status));
  }

  /// Lets the message continue by itself. The buffer must stay until the other rank is known to have its
  /// data, or the communicator has been closed.
  void detach() && {
    // A receipt is written until the message is complete.
    auto& receipt = request_.get_deleter().receipt;
    if (receipt != nullptr && rondo_request_tell(get(), &free_receipt, receipt.get()) == RONDO_OK)
      static_cast<void>(receipt.release());
    rondo_request_free(request_.release());
  }

 private:
  friend class BasicCommunicator<Errors>;

  /// Ends a request. The message writes to the receipt until then.
  struct Ending {
    std::unique_ptr<Receipt> receipt = nullptr;  // of a receive

    void operator()(rondo_request_t request) const noexcept {
      rondo_request_wait(request, 0);
      rondo_request_free(request);
    }
  };

  BasicRequest(rondo_request_t request, std::unique_ptr<Receipt> receipt) noexcept
      : request_(request, Ending{std::move(receipt)}) {}

  template <typename F>
  static void tell(rondo_status_t status, const char* text, void* user) noexcept {
    const std::unique_ptr<F> told(static_cast<F*>(user));
    (*told)(static_cast<Code>(status), std::string_view(text));
  }
  static void free_receipt(rondo_status_t, const char*, void* user) noexcept {
    delete static_cast<Receipt*>(user);
  }

  std::unique_ptr<rondo_request, Ending> request_;
};

namespace detail {
template <typename Errors>
Errors errors_of(const BasicRequest<Errors>&);
}  // namespace detail

/// Waits until every message of a range of requests is complete; reports the first error in their order.
template <std::ranges::input_range Requests>
auto wait_all(Requests&& requests) {
  using Errors = decltype(detail::errors_of(*std::ranges::begin(requests)));
  Result<void> first;
  for (const auto& request : requests) {
    Result<void> result = detail::checked(rondo_request_wait(request.get(), 0));
    if (first && !result) first = std::move(result);
  }
  return Errors::outcome(std::move(first));
}

}  // namespace rondo
