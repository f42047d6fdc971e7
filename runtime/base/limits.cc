// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <sys/resource.h>

#include <cerrno>

namespace rondo {
namespace {

std::string limit_text(__rlimit_resource resource, const char* of_what, const char* option) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return fmt::format(" (this process may have {} {}: ulimit {})", limit.rlim_cur, of_what, option);
}

}  // namespace

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

}  // namespace rondo
