// SPDX-License-Identifier: Apache-2.0
// KernelTurn: one launch at a time per device, across all processes, so that kernels which wait for kernels
// of other launches hang here, as they may if a GPU has no room for both.
#pragma once

#include <mutex>
#include <string>

namespace rondo::standin {

class KernelTurn {
 public:
  /// `path`: a file that processes lock in turn; empty for a single process. `alone` false: nothing is
  /// locked.
  KernelTurn(bool alone, const std::string& path);
  KernelTurn(const KernelTurn&) = delete;
  KernelTurn& operator=(const KernelTurn&) = delete;

  void lock();
  void unlock();
  /// Called in a forked child, which must not hold its parent's lock.
  void leave_to_parent();

 private:
  const bool alone_;
  std::mutex mutex_;
  int file_ = -1;
};

}  // namespace rondo::standin
