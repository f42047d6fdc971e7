// Threads of the bindings' own: the program's signal handlers must not run on threads that it does not know
// of. The bindings use the C API alone, so the runtime's own such function is out of their reach. Any thread.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace rondo::bindings {

template <typename Body>
std::thread quiet_thread(Body&& body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made(std::forward<Body>(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace rondo::bindings
