// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "clock.h"

namespace rondo::test {

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

std::string Outcome::failure() const {
  if (ok) return {};
  if (hung) return error + " (hung)";
  if (signal != 0) return error + " (" + ::strsignal(signal) + ")";
  return error.empty() ? "exit status " + std::to_string(status) : error;
}

Process::Process(const std::function<void()>& body) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  require(pid_ >= 0, "no process");
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(1);  // it ended before prctl() took effect
  try {
    body();
  } catch (const std::exception& failure) {
    std::snprintf(error_->data(), error_->size(), "%s", failure.what());
    std::_Exit(1);
  }
  std::_Exit(0);
}

Process::~Process() {
  if (pid_ != 0) wait(0);
}

Outcome Process::wait(double limit_s) {
  Outcome outcome;
  int status = 0;
  for (const double until = seconds_now() + limit_s; ::waitpid(pid_, &status, WNOHANG) == 0; sleep_ms(1)) {
    if (seconds_now() < until) continue;
    outcome.hung = true;
    ::kill(pid_, SIGKILL);
  }
  pid_ = 0;
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  outcome.error = error_->data();
  outcome.ok = status == 0 && !outcome.hung;
  return outcome;
}

}  // namespace rondo::test
