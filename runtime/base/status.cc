// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace rondo {
namespace {

std::string limit_text(__rlimit_resource resource, const char* of_what, const char* option) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return fmt::format(" (this process may have {} {}: ulimit {})", limit.rlim_cur, of_what, option);
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

const std::string& Status::message() const {
  static const std::string empty;
  return failure_ ? failure_->message : empty;
}

Status Status::within(const std::string& context) const {
  return ok() ? Status() : Status(code(), context + ": " + message());
}

std::string limit_behind(int error_number) {
  switch (error_number) {
    case EMFILE: return limit_text(RLIMIT_NOFILE, "descriptors", "-n");
    case ENFILE: return " (this host has reached its limit on open files: fs.file-max)";
    case EAGAIN: return limit_text(RLIMIT_NPROC, "processes and threads of its user", "-u");
    case ENOMEM: return limit_text(RLIMIT_AS, "bytes of address space", "-v");
    default: return {};
  }
}

Status out_of_memory() { return error(Code::OutOfMemory, "out of memory{}", limit_behind(ENOMEM)); }

Status system_error(const std::string& what, int error_number) {
  return error(Code::SystemError, "{}: {}{}", what, std::strerror(error_number), limit_behind(error_number));
}

}  // namespace rondo
