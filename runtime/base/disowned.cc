// SPDX-License-Identifier: Apache-2.0
#include "base/disowned.h"

#include <pthread.h>

#include "base/error_kinds.h"

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

namespace {

/// The handler is there before any fork.
[[maybe_unused]] const int when_loaded = (InUse(), 0);

}  // namespace

Status refuse_disowned() {
  const char* why = why_disowned.load(std::memory_order_relaxed);
  return why == nullptr ? Status() : Status(ErrorKind::AfterFork, why);
}

}  // namespace rondo
