// SPDX-License-Identifier: Apache-2.0
// The one object of a type in a process. The child of a fork gets one of its own: its parent's may be locked
// by a thread that the child does not have, or say that this thread is at work. Never freed, as the library's
// threads may outlive static objects. Any thread.
#pragma once

#include <unistd.h>

#include <atomic>

namespace rondo {

template <class T>
T& per_process() {
  struct OfProcess {
    pid_t process;
    OfProcess* of_parent;  // kept, never used
    T object{};
  };
  static constinit std::atomic<OfProcess*> latest{nullptr};
  OfProcess* known = latest.load(std::memory_order_acquire);  // pairs with the exchange
  while (known == nullptr || known->process != ::getpid()) {
    auto* const made = new OfProcess{::getpid(), known};
    if (latest.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made->object;
    delete made;
  }
  return known->object;
}

}  // namespace rondo
