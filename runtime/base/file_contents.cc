// SPDX-License-Identifier: Apache-2.0
#include "base/file_contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"

namespace rondo {
namespace {

/// 0, or the error number.
int read_all(const Fd& file, size_t max_bytes, std::string& text) {
  if (!file.valid()) return errno;
  char bytes[4096];
  while (text.size() != max_bytes) {
    const ssize_t count = ::read(file.get(), bytes, std::min(sizeof(bytes), max_bytes - text.size()));
    if (count == 0) return 0;
    if (count > 0) text.append(bytes, static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

std::string file_contents(const std::string& path, size_t max_bytes) {
  std::string text;
  const int error_number =
      read_all(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)), max_bytes, text);
  if (error_number != 0) text.clear();
  errno = error_number;
  return text;
}

}  // namespace rondo
