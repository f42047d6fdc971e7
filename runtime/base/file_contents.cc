// SPDX-License-Identifier: Apache-2.0
#include "base/file_contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>

#include "base/error_kinds.h"
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

/// 0, or the error number.
int write_all(const Fd& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
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

Status replace_file(const std::string& path, std::string_view text) {
  // Hidden, as one that a killed process leaves is not meant by "*".
  const size_t name = path.rfind('/') + 1;
  const std::string draft =
      fmt::format("{}.{}.{:08x}", path.substr(0, name), path.substr(name), std::random_device()());
  constexpr mode_t kReadable = 0666;  // as umask allows
  const Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadable));
  if (!file.valid()) return system_error("cannot write " + path, errno, ErrorKind::FileUnwritable);
  int error_number = write_all(file, text);
  if (error_number == 0 && (::fsync(file.get()) != 0 || ::rename(draft.c_str(), path.c_str()) != 0))
    error_number = errno;
  if (error_number == 0) return {};
  ::unlink(draft.c_str());
  return system_error("cannot write " + path, error_number, ErrorKind::FileUnwritable);
}

}  // namespace rondo
