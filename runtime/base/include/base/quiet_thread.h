// Threads of the library's own, on which the host program's signal handlers must not run. Any thread.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace rondo {

template <class Body>
std::thread quiet_thread(Body&& body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread started(std::forward<Body>(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace rondo
