// SPDX-License-Identifier: Apache-2.0
// The library's own threads, on which the host program's signal handlers must not run. Any thread.
#pragma once

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace rondo {

/// Blocks all signals on the calling thread for its lifetime; threads started meanwhile keep them blocked.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

template <class Body>
std::thread quiet_thread(Body&& body) {
  const NoSignals quiet;
  return std::thread(std::forward<Body>(body));
}

/// SystemError if the process cannot create another thread.
template <class Body>
Result<std::thread> try_quiet_thread(Body&& body) {
  try {
    return quiet_thread(std::forward<Body>(body));
  } catch (const std::system_error& failure) {
    return system_error("cannot start a thread", failure.code().value());
  }
}

}  // namespace rondo
