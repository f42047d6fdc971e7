// SPDX-License-Identifier: Apache-2.0
#include "base/disowned.h"

#include <pthread.h>

namespace rondo {

// All accesses are relaxed: fork() copies the counter, and the sentences are constants.
constinit std::atomic<const char*> why_disowned{nullptr};
constinit std::atomic<int> InUse::holders{0};

InUse::InUse() {
  holders.fetch_add(1, std::memory_order_relaxed);
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (holders.load(std::memory_order_relaxed) != 0)
      why_disowned.store(
          "this process was forked from one that was using Rondo; start Rondo after the fork, or exec",
          std::memory_order_relaxed);
  });
  static_cast<void>(registered);
}

void disown_descriptors() {
  why_disowned.store(
      "this process has closed descriptors that Rondo was using (close(), closefrom(), daemon()); "
      "close all descriptors before Rondo starts",
      std::memory_order_relaxed);
}

Status refuse_disowned() {
  const char* why = why_disowned.load(std::memory_order_relaxed);
  return why == nullptr ? Status() : Status(Code::InvalidUsage, why);
}

}  // namespace rondo
