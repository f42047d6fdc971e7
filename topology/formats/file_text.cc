// SPDX-License-Identifier: Apache-2.0
#include "file_text.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/error_kinds.h"

namespace rondo {
namespace {

constexpr int kMaxPause_ms = 5000;  // of what writes into a pipe

}  // namespace

Result<FileText> FileText::open(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return system_error(path, errno, ErrorKind::FileUnreadable);
  return FileText(std::move(file), path);
}

Result<size_t> FileText::read(char* to, size_t bytes) {
  while (true) {
    const ssize_t done = ::read(file_.get(), to, bytes);
    if (done >= 0) return static_cast<size_t>(done);
    if (errno != EAGAIN && errno != EINTR) return system_error(path_, errno, ErrorKind::FileUnreadable);
    pollfd pipe{.fd = file_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&pipe, 1, kMaxPause_ms) == 0)
      return error(ErrorKind::FileUnreadable, "{}: nothing was written to it for {} s", path_,
                   kMaxPause_ms / 1000)
          .as(Code::Timeout);
  }
}

Result<std::string> read_file(const std::string& path) {
  RONDO_TRY_ASSIGN(FileText file, FileText::open(path));
  std::string text;
  char piece[16384];
  for (size_t bytes = 1; bytes != 0 && text.size() <= kMaxDescriptionBytes;) {
    RONDO_TRY_ASSIGN(bytes, file.read(piece, sizeof(piece)));
    text.append(piece, bytes);
  }
  if (text.size() > kMaxDescriptionBytes)
    return error(ErrorKind::FileTooLarge, "{}: larger than {} bytes: no file of its kind is", path,
                 kMaxDescriptionBytes);
  return text;
}

}  // namespace rondo
