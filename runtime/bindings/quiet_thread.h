// SPDX-License-Identifier: Apache-2.0
// Threads of the bindings, with all signals blocked: a program's signal handlers must not run on threads it
// does not know of. The bindings use only the C API, so they cannot use the runtime's quiet_thread(). Any
// thread.
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
