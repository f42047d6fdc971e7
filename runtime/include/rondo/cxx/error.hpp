// SPDX-License-Identifier: Apache-2.0
/**
 * @file error.hpp
 * @brief How calls of rondo.hpp report errors: by an exception, or by a Result.
 *
 * Both ways carry the same Error. The classes of namespace rondo throw it; those of the same names in
 * rondo::nothrow return Result<T>, throw nothing, and compile with -fno-exceptions.
 */
#pragma once

#include <rondo/rondo.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace rondo {

/// What kind of error it is; rondo.h describes each.
enum class Code : int {
  ok = RONDO_OK,                              ///< Success.
  invalid_argument = RONDO_INVALID_ARGUMENT,  ///< An argument is out of its range; nothing was done.
  invalid_usage = RONDO_INVALID_USAGE,        ///< Not allowed in this state; nothing was done.
  system_error = RONDO_SYSTEM_ERROR,          ///< The operating system reported an error.
  internal_error = RONDO_INTERNAL_ERROR,      ///< A fault in Rondo itself.
  remote_error = RONDO_REMOTE_ERROR,          ///< A peer died or left.
  timeout = RONDO_TIMEOUT,                    ///< The deadline passed.
  mismatch = RONDO_MISMATCH,                  ///< Ranks disagree about a call.
  aborted = RONDO_ABORTED,                    ///< Some rank called abort().
  in_progress = RONDO_IN_PROGRESS,            ///< Not done yet.
  unsupported = RONDO_UNSUPPORTED,            ///< Legal, but this build cannot do it.
  out_of_memory = RONDO_OUT_OF_MEMORY         ///< Out of memory.
};

/// The name of a code in rondo.h, for example "RONDO_TIMEOUT".
inline const char* name_of(Code code) noexcept {
  return rondo_status_string(static_cast<rondo_status_t>(code));
}

/// An error: its code, and a sentence that names the rank, the call and the cause.
class Error : public std::runtime_error {
 public:
  /// An error with this code and sentence.
  Error(Code code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  /// Its code, never Code::ok.
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

namespace detail {
/// Ends the program if a value is read that is not there, in place of undefined behaviour.
[[noreturn]] inline void end_without_value(const char* why) noexcept {
  std::fprintf(stderr, "rondo::Result: read without a value: %s\n", why);
  std::abort();
}
}  // namespace detail

/// A value of type T or an Error; a part of std::expected<T, Error>, which C++20 does not have.
template <typename T>
class [[nodiscard]] Result {
 public:
  /// A value.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  /// An error.
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  /// Whether there is a value.
  bool has_value() const noexcept { return state_.index() == 0; }
  /// Whether there is a value.
  explicit operator bool() const noexcept { return has_value(); }
  /// The value. Without one, the program ends with the error's sentence.
  T& operator*() & { return *held(); }
  const T& operator*() const& { return *const_cast<Result*>(this)->held(); }  ///< The same.
  T&& operator*() && { return std::move(*held()); }                           ///< The same.
  T* operator->() { return held(); }                                          ///< The same.
  const T* operator->() const { return const_cast<Result*>(this)->held(); }   ///< The same.
  /// The value, or `other` without one.
  T value_or(T other) && { return has_value() ? std::move(*held()) : std::move(other); }
  /// The error. With a value, the program ends.
  const Error& error() const {
    if (has_value()) detail::end_without_value("there is no error");
    return *std::get_if<1>(&state_);
  }
#ifdef __cpp_exceptions
  /// The value; throws the error without one.
  T value() && {
    if (!has_value()) throw error();
    return std::move(*held());
  }
#endif

 private:
  T* held() {
    if (!has_value()) detail::end_without_value(error().what());
    return std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  /// Success.
  Result() = default;
  /// An error.
  Result(Error error) : error_(std::move(error)) {}

  /// Whether it is success.
  bool has_value() const noexcept { return !error_.has_value(); }
  /// Whether it is success.
  explicit operator bool() const noexcept { return has_value(); }
  /// The error. On success, the program ends.
  const Error& error() const {
    if (!error_) detail::end_without_value("there is no error");
    return *error_;
  }
#ifdef __cpp_exceptions
  /// Throws the error, unless it is success.
  void value() const {
    if (error_) throw *error_;
  }
#endif

 private:
  std::optional<Error> error_;
};

#ifdef __cpp_exceptions
/// Errors are thrown.
struct Throwing {
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = T;
  /// The value, unless there is an error.
  template <typename T>
  static T outcome(Result<T> result) {
    return std::move(result).value();
  }
};
#endif

/// Errors are returned.
struct Returning {
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = Result<T>;
  /// The result itself.
  template <typename T>
  static Result<T> outcome(Result<T> result) {
    return result;
  }
};

namespace detail {

/// The result of a C call. Its sentence is the communicator's last one, or without a communicator the
/// thread's.
inline Result<void> checked(rondo_status_t status, rondo_comm_t comm = nullptr) {
  if (status == RONDO_OK) return {};
  return Error(static_cast<Code>(status), rondo_last_error(comm));
}

/// The result of a C query that says RONDO_IN_PROGRESS if something is not done yet.
inline Result<bool> checked_query(rondo_status_t status) {
  if (status == RONDO_IN_PROGRESS) return false;
  if (Result<void> result = checked(status); !result) return result.error();
  return true;
}

/// A value, if the C call that made it succeeded.
template <typename T>
Result<T> made(rondo_status_t status, T value, rondo_comm_t comm = nullptr) {
  if (Result<void> result = checked(status, comm); !result) return result.error();
  return value;
}

/// How std::unique_ptr frees a handle of the C API.
template <auto free_handle>
struct FreedBy {
  template <typename Handle>
  void operator()(Handle* handle) const noexcept {
    free_handle(handle);
  }
};

/// An argument that is refused before a C call: "all_reduce: out has 3 elements: it must have 4, ...".
inline Error refused(const char* call, const std::string& sentence) {
  return Error(Code::invalid_argument, std::string(call) + ": " + sentence);
}

}  // namespace detail
}  // namespace rondo
