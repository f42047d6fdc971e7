// SPDX-License-Identifier: Apache-2.0
/**
 * @file group.hpp
 * @brief Calls that make progress together: Group.
 */
#pragma once

#include <rondo/cxx/error.hpp>
#include <rondo/cxx/prepared.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace rondo {

/// The calls that this thread makes from start() to end(), which then run together, so that neither crossing
/// sends and receives nor the order of communicators can deadlock. Groups nest. Move-only; null after a move.
/// A group that was not ended is cancelled with all that enclose it, and none of their calls is made.
///
/// Nothing is done before the outermost group ends: buffers must last until then, and a received value is
/// there only afterwards.
template <typename Errors>
class [[nodiscard]] BasicGroup {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// Starts a group on this thread.
  static Outcome<BasicGroup> start() {
    BasicGroup made;
    const rondo_status_t status = rondo_group_start();
    made.open_ = status == RONDO_OK;
    return Errors::outcome(detail::made(status, std::move(made)));
  }

  /// Makes the calls that `calls` makes as a group. If it throws, or returns a Result<void> that is an error,
  /// none of them is made.
  template <std::invocable F>
  static Outcome<void> run(F&& calls) {
    return Errors::outcome(collected(std::forward<F>(calls), &BasicGroup::ended));
  }
  /// Prepares the calls that `calls` makes as a group, of one communicator and on no stream, to be made
  /// later, any number of times. If it throws, or returns a Result<void> that is an error, there is nothing
  /// to be made.
  template <std::invocable F>
  static Outcome<BasicPrepared<Errors>> prepare(F&& calls) {
    return Errors::outcome(collected(std::forward<F>(calls), &BasicGroup::prepared));
  }

  /// Takes over another's group.
  BasicGroup(BasicGroup&& other) noexcept : open_(std::exchange(other.open_, false)) {}
  BasicGroup& operator=(BasicGroup&&) = delete;  ///< Two groups cannot end in any order.
  ~BasicGroup() {
    if (open_) rondo_group_cancel();
  }

  /// Whether it was started, and neither ended nor moved from.
  explicit operator bool() const noexcept { return open_; }

  /// Ends the group; the outermost end runs the calls and reports the first error of one. Those without a
  /// queue are done when it returns.
  Outcome<void> end() { return Errors::outcome(ended()); }
  /// Ends the group and prepares its calls instead of making them. Not of a group within another one, which
  /// is cancelled too.
  Outcome<BasicPrepared<Errors>> prepare() { return Errors::outcome(prepared()); }
  /// Ends the group and all that enclose it, without making any of their calls.
  Outcome<void> cancel() {
    open_ = false;
    return Errors::outcome(detail::checked(rondo_group_cancel()));
  }

 private:
  BasicGroup() = default;

  Result<void> ended() {
    open_ = false;
    return detail::checked(rondo_group_end());
  }

  Result<BasicPrepared<Errors>> prepared() {
    const bool was_open = std::exchange(open_, false);
    rondo_request_t request = nullptr;
    const rondo_status_t status = rondo_group_prepare(&request);
    auto result = detail::made(status, BasicPrepared<Errors>(request));
    if (was_open && !result) rondo_group_cancel();  // it is still there if it is within another one
    return result;
  }

  /// What `end` makes of the calls.
  template <typename F, typename T>
  static Result<T> collected(F&& calls, Result<T> (BasicGroup::*end)()) {
    if (Result<void> result = detail::checked(rondo_group_start()); !result) return result.error();
    BasicGroup group;
    group.open_ = true;
    if constexpr (std::same_as<std::invoke_result_t<F>, Result<void>>) {
      if (Result<void> result = std::forward<F>(calls)(); !result) return result.error();
    } else {
      std::forward<F>(calls)();
    }
    return (group.*end)();
  }

  bool open_ = false;
};

}  // namespace rondo
