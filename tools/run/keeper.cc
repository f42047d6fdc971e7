// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace rondo::run {
namespace {

// Process groups arrive through the pipe. End of file means that rondo-run has died; a 0 before it means a
// normal exit.
[[noreturn]] void keep(int pipe) {
  setsid();  // signals to the terminal's processes or to rondo-run's group must not end this one
  prctl(PR_SET_NAME, "rondo-run-keep");
  for (int fd = 0; fd < 3; ++fd) close(fd);  // readers of rondo-run's output must not wait for this process
  std::vector<pid_t> groups;
  for (pid_t group = 0; read(pipe, &group, sizeof(group)) == static_cast<ssize_t>(sizeof(group));) {
    if (group == 0) _exit(0);
    groups.push_back(group);
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

bool Keeper::start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    keep(ends[0]);
  }
  close(ends[0]);
  pipe_ = ends[1];
  return pid_ > 0;
}

void Keeper::add(pid_t group) { [[maybe_unused]] const auto written = write(pipe_, &group, sizeof(group)); }

Keeper::~Keeper() {
  if (pipe_ < 0) return;
  add(0);
  close(pipe_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

}  // namespace rondo::run
