// SPDX-License-Identifier: Apache-2.0
// Threads of the bindings, with names and with all signals blocked: a program's signal handlers must not run
// on threads it does not know of. The bindings use only the C API, so they cannot use the runtime's
// quiet_thread(). Any thread.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstddef>
#include <thread>
#include <utility>

namespace rondo::bindings {

/// `name`: a literal, "rondo-...".
template <size_t kNameBytes, typename Body>
std::thread quiet_thread(const char (&name)[kNameBytes], Body&& body) {
  static_assert(kNameBytes <= 16, "the kernel keeps 15 characters");
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made([&name, body = std::forward<Body>(body)]() mutable {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace rondo::bindings
