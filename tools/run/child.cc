// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

namespace rondo::run {
namespace {

[[noreturn]] void fail(const ChildSetup& setup) {
  const int why = errno;
  [[maybe_unused]] const auto written = write(setup.failure, &why, sizeof(why));
  _exit(127);
}

void become(const ChildSetup& setup, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl() took effect
  const int fds[] = {setup.in, setup.out, setup.err};
  for (int fd = 0; fd < 3; ++fd) {
    if (fds[fd] >= 0 && dup2(fds[fd], fd) < 0) fail(setup);
  }
  for (const auto& [name, value] : setup.variables) setenv(name.c_str(), value.c_str(), 1);
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");  // no torchrun listens at this run's MASTER_PORT
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGTTIN, SIG_DFL);
  sigprocmask(SIG_SETMASK, &setup.signal_mask, nullptr);
}

}  // namespace

pid_t start_child(const ChildSetup& setup) {
  std::vector<char*> arguments;
  for (const std::string& word : setup.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    become(setup, parent);
    execvp(arguments[0], arguments.data());
    fail(setup);
  }
  if (pid > 0) setpgid(pid, pid);  // parent and child both call it, since either may run first
  return pid;
}

}  // namespace rondo::run
