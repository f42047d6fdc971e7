// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace rondo::run {

bool write_all(int fd, const std::string& text) {
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = write(fd, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // the descriptor was made non-blocking elsewhere
      pollfd ready{fd, POLLOUT, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (written <= 0) return false;
    left.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Output::Output(Output&& other) noexcept
    : to_(other.to_),
      rank_end_(std::exchange(other.rank_end_, -1)),
      own_end_(std::exchange(other.own_end_, -1)),
      lines_(std::move(other.lines_)) {}

Output::~Output() {
  close_rank_end();
  if (own_end_ >= 0) close(own_end_);
}

bool Output::open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  own_end_ = ends[0];
  rank_end_ = ends[1];
  return fcntl(own_end_, F_SETFL, O_NONBLOCK) == 0;  // only this end: the rank's may block
}

void Output::close_rank_end() {
  if (rank_end_ >= 0) close(rank_end_);
  rank_end_ = -1;
}

bool Output::pass_on() {
  // A rank that never stops writing must not starve the others.
  constexpr int kMaxReads = 16;
  char bytes[65536];
  for (int i = 0; i < kMaxReads && own_end_ >= 0; ++i) {
    const ssize_t got = read(own_end_, bytes, sizeof(bytes));
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return finish();
    if (!pass_bytes(bytes, static_cast<size_t>(got))) return false;
  }
  return true;
}

bool Output::pass_bytes(const char* bytes, size_t count) {
  const std::string lines = lines_.add({bytes, count});
  return lines.empty() || write_all(to_, lines);
}

bool Output::finish() {
  if (own_end_ >= 0) close(own_end_);
  own_end_ = -1;
  const std::string rest = lines_.finish();
  return rest.empty() || write_all(to_, rest);
}

}  // namespace rondo::run
