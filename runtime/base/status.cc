// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/error_kinds.h"

namespace rondo {
namespace {

std::string limit_text(__rlimit_resource resource, const char* of_what, const char* option) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return fmt::format(" (this process may have {} {}: ulimit {})", limit.rlim_cur, of_what, option);
}

Code code_of(ErrorKind kind) {
  struct CodeOfKind {
    ErrorKind kind;
    Code code;
  };
  static constexpr CodeOfKind kCodes[] = {
#define RONDO_CODE_OF_KIND(name, number, code) {ErrorKind::name, Code::code},
      RONDO_ERROR_KINDS(RONDO_CODE_OF_KIND)
#undef RONDO_CODE_OF_KIND
  };
  const auto* const found =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](const auto& one) { return one.kind == kind; });
  return found == std::end(kCodes) ? Code::InternalError : found->code;
}

/// An errno that says more than what failed with it.
ErrorKind kind_behind(int error_number, ErrorKind otherwise) {
  switch (error_number) {
    case EMFILE: return ErrorKind::TooManyDescriptors;
    case ENFILE: return ErrorKind::TooManyFilesOfHost;
    case ENOMEM: return ErrorKind::NoMemoryOfSystem;
    case ENOSPC: return ErrorKind::DiskFull;
    case EACCES:
    case EPERM: return ErrorKind::PermissionDenied;
    default: return otherwise;
  }
}

/// Kinds of this and later versions; the codes' own are not among them.
constexpr unsigned kFirstKind = 100;
constexpr size_t kIdLength = std::string_view("R0000").size();

/// Where " [R0203]" begins at the end of a text, if it is there.
std::optional<size_t> suffix_of(std::string_view text) {
  constexpr std::string_view kOpening = " [R";
  constexpr size_t kLength = kIdLength + 3;
  if (text.size() < kLength || text.back() != ']') return std::nullopt;
  const size_t begin = text.size() - kLength;
  if (text.substr(begin, kOpening.size()) != kOpening) return std::nullopt;
  const std::string_view digits = text.substr(begin + kOpening.size(), kIdLength - 1);
  const bool is_number =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional(begin) : std::nullopt;
}

}  // namespace

const char* code_name(Code code) {
  switch (code) {
    case Code::Ok: return "RONDO_OK";
    case Code::InvalidArgument: return "RONDO_INVALID_ARGUMENT";
    case Code::InvalidUsage: return "RONDO_INVALID_USAGE";
    case Code::SystemError: return "RONDO_SYSTEM_ERROR";
    case Code::InternalError: return "RONDO_INTERNAL_ERROR";
    case Code::RemoteError: return "RONDO_REMOTE_ERROR";
    case Code::Timeout: return "RONDO_TIMEOUT";
    case Code::Mismatch: return "RONDO_MISMATCH";
    case Code::Aborted: return "RONDO_ABORTED";
    case Code::InProgress: return "RONDO_IN_PROGRESS";
    case Code::Unsupported: return "RONDO_UNSUPPORTED";
    case Code::OutOfMemory: return "RONDO_OUT_OF_MEMORY";
  }
  return "an unknown status";
}

Status::Status(ErrorKind kind, std::string message) : Status(code_of(kind), kind, std::move(message)) {}

Status Status::of_text(Code code, std::string text) {
  const auto suffix = suffix_of(text);
  if (!suffix) return Status(code, std::move(text));
  unsigned number = 0;
  for (const char digit : std::string_view(text).substr(*suffix + 3, kIdLength - 1))
    number = 10 * number + static_cast<unsigned>(digit - '0');
  text.resize(*suffix);
  return Status(code, number < kFirstKind ? ErrorKind{} : static_cast<ErrorKind>(number), std::move(text));
}

std::string Status::id() const {
  if (ok() || code() == Code::InProgress) return {};
  const auto number =
      static_cast<int>(kind() == ErrorKind{} ? static_cast<uint16_t>(code()) : static_cast<uint16_t>(kind()));
  return fmt::format("R{:04}", number);
}

std::string Status::text() const {
  const std::string of_kind = id();
  return of_kind.empty() ? message() : fmt::format("{} [{}]", message(), of_kind);
}

const std::string& Status::message() const {
  static const std::string empty;
  return failure_ ? failure_->message : empty;
}

Status Status::within(const std::string& context) const {
  return ok() ? Status() : Status(code(), kind(), context + ": " + message());
}

Status Status::as(Code code) const { return ok() ? Status() : Status(code, kind(), message()); }

Status Status::because(ErrorKind cause) const {
  return ok() || cause == ErrorKind{} ? *this : Status(code(), cause, message());
}

std::string limit_behind(int error_number) {
  switch (error_number) {
    case EMFILE: return limit_text(RLIMIT_NOFILE, "descriptors", "-n");
    case ENFILE: return " (this host has reached its limit on open files: fs.file-max)";
    case EAGAIN:
      return limit_text(RLIMIT_NPROC, "processes and threads of its user",
                        "-u; a control group may allow fewer: pids.max");
    case EFBIG: return limit_text(RLIMIT_FSIZE, "bytes in a file", "-f");
    case ENOMEM: return limit_text(RLIMIT_AS, "bytes of address space", "-v");
    default: return {};
  }
}

Status out_of_memory() { return error(Code::OutOfMemory, "out of memory{}", limit_behind(ENOMEM)); }

Status system_error(const std::string& what, int error_number, ErrorKind kind) {
  return error(Code::SystemError, "{}: {}{}", what, std::strerror(error_number), limit_behind(error_number))
      .because(kind_behind(error_number, kind));
}

}  // namespace rondo
