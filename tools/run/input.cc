// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "output.h"

namespace rondo::run {

Input::~Input() {
  close_rank_end();
  stop();
}

bool Input::open() {
  if (isatty(STDIN_FILENO) == 0) return true;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  rank_end_ = ends[0];
  to_rank_ = ends[1];
  return true;
}

int Input::own_end() const { return to_rank_ >= 0 ? STDIN_FILENO : -1; }

void Input::close_rank_end() {
  if (rank_end_ >= 0) close(rank_end_);
  rank_end_ = -1;
}

void Input::stop() {
  if (to_rank_ >= 0) close(to_rank_);
  to_rank_ = -1;
}

void Input::pass_on() {
  char bytes[4096];  // a terminal delivers one line at a time, and typed lines never fill the pipe
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got < 0 && errno == EINTR) return;
  if (got <= 0 || !write_all(to_rank_, std::string(bytes, static_cast<size_t>(got)))) stop();
}

}  // namespace rondo::run
