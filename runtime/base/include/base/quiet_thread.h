// SPDX-License-Identifier: Apache-2.0
// The library's own threads: they have names, for debuggers and top -H, and the host program's signal
// handlers must not run on them. Any thread.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error_kinds.h"
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

/// `name`: a literal, "rondo-...".
template <size_t kNameBytes, class Body>
std::thread quiet_thread(const char (&name)[kNameBytes], Body&& body) {
  static_assert(kNameBytes <= 16, "the kernel keeps 15 characters");
  const NoSignals quiet;
  return std::thread([&name, body = std::forward<Body>(body)]() mutable {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
}

/// SystemError if the process cannot create another thread.
template <size_t kNameBytes, class Body>
Result<std::thread> try_quiet_thread(const char (&name)[kNameBytes], Body&& body) {
  try {
    return quiet_thread(name, std::forward<Body>(body));
  } catch (const std::system_error& failure) {
    return system_error("cannot start a thread", failure.code().value(), ErrorKind::TooManyThreads);
  }
}

}  // namespace rondo
