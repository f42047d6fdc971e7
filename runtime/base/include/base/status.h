// SPDX-License-Identifier: Apache-2.0
// Status and Result<T>: the return types of fallible functions.
//
// A Status is a code, a kind and a sentence; Result<T> is a value or a failed Status. Errors are propagated
// with RONDO_TRY; nothing in Rondo throws across a function boundary. Immutable values: any thread.
//
// The kind is what a user acts on: docs/troubleshooting.md and rondo-explain have a row for each. A site
// names one if the code alone does not say what to do. What leaves the process or reaches the user is text(),
// the sentence with the id of its kind, "... [R0203]"; sentences are combined without ids.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace rondo {

/// The C API's rondo_status_t; runtime/api asserts that the numbers agree.
enum class Code {
  Ok = 0,
  InvalidArgument = 1,
  InvalidUsage = 2,
  SystemError = 3,
  InternalError = 4,
  RemoteError = 5,
  Timeout = 6,
  Mismatch = 7,
  Aborted = 8,
  InProgress = 9,
  Unsupported = 10,
  OutOfMemory = 11,
};

/// base/error_kinds.h has them, which only the files include that name one. 0: that of the code.
enum class ErrorKind : uint16_t;

/// "RONDO_TIMEOUT" and the like.
const char* code_name(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : Status(code, ErrorKind{}, std::move(message)) {}
  /// With the code of the kind.
  Status(ErrorKind kind, std::string message);
  /// Of what text() returned, here or at another rank.
  static Status of_text(Code code, std::string text);

  bool ok() const { return failure_ == nullptr; }
  Code code() const { return failure_ ? failure_->code : Code::Ok; }
  ErrorKind kind() const { return failure_ ? failure_->kind : ErrorKind{}; }
  /// The sentence without an id.
  const std::string& message() const;
  /// "R0203"; empty if the Status is Ok or InProgress.
  std::string id() const;
  /// "<message> [<id>]"
  std::string text() const;

  /// The same failure with "<context>: " before its sentence.
  Status within(const std::string& context) const;
  /// The same sentence and kind with another code.
  Status as(Code code) const;
  /// The same sentence and code, of the kind of its cause unless that is 0.
  Status because(ErrorKind cause) const;

 private:
  struct Failure {
    Code code;
    ErrorKind kind;
    std::string message;
  };
  Status(Code code, ErrorKind kind, std::string message)
      : failure_(std::make_shared<const Failure>(Failure{code, kind, std::move(message)})) {}

  std::shared_ptr<const Failure> failure_;  // null: success, so that success costs nothing
};

/// A Status whose sentence is formatted as by fmt.
template <typename... Args>
Status error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

/// The same of a kind, with the kind's code.
template <typename... Args>
Status error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return Status(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// The limit behind an errno, " (this process may have 1024 descriptors: ulimit -n)"; empty if there is none.
std::string limit_behind(int error_number);

/// The Status for a std::bad_alloc, with the process's memory limit if it has one.
Status out_of_memory();

/// SystemError with errno's own words: "what: No such file or directory". Of the kind of the limit behind the
/// errno, or else of `kind`.
Status system_error(const std::string& what, int error_number, ErrorKind kind = {});

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}            // NOLINT: implicit by design
  Result(Status failure) : status_(std::move(failure)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace rondo

/// Returns from the enclosing function with the Status of `expression` unless that is Ok.
#define RONDO_TRY(expression)                                                                             \
  do {                                                                                                    \
    if (::rondo::Status rondo_try_status = (expression); !rondo_try_status.ok()) return rondo_try_status; \
  } while (false)

#define RONDO_CONCAT_(a, b) a##b
#define RONDO_CONCAT(a, b) RONDO_CONCAT_(a, b)
#define RONDO_TRY_ASSIGN_(result, target, expression) \
  auto result = (expression);                         \
  if (!result.ok()) return result.status();           \
  target = result.take()

/// Evaluates a Result; assigns its value to `target` (which may declare a variable) or returns its Status.
#define RONDO_TRY_ASSIGN(target, expression) \
  RONDO_TRY_ASSIGN_(RONDO_CONCAT(rondo_result_, __LINE__), target, expression)
