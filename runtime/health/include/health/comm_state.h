// SPDX-License-Identifier: Apache-2.0
// CommState: the first failure of a communicator, and the flag that every wait polls. Any thread.
#pragma once

#include <atomic>
#include <cassert>
#include <mutex>

#include "base/status.h"

namespace rondo {

class CommState {
 public:
  /// Keeps the cause if it is the first one; true if it was.
  bool fail(Status cause) {
    assert(!cause.ok());
    std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return false;
    cause_ = std::move(cause);
    failed_.store(true, std::memory_order_release);  // pairs with failed()
    return true;
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Ok while nothing has failed.
  Status cause() const {
    if (!failed()) return {};
    std::lock_guard lock(mutex_);
    return cause_;
  }

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status cause_;
};

}  // namespace rondo
