// SPDX-License-Identifier: Apache-2.0
#include "watchdog.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <string_view>

namespace rondo::perf {
namespace {

// A signal handler: only async-signal-safe calls.
void give_up(int) {
  constexpr std::string_view text = "rondo-perf: a row took longer than -T allows\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(3);
}

}  // namespace

void watch_row(double seconds) {
  struct sigaction action {};
  action.sa_handler = give_up;
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(std::floor(seconds));
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace rondo::perf
