// KernelTurn: one launch at a time on a device, in all processes, so that kernels which wait for kernels of
// other launches hang here, as they may where a GPU has no room for both.
#pragma once

#include <mutex>
#include <string>

namespace rondo::standin {

class KernelTurn {
 public:
  /// `path`: a file that processes lock in turn; empty: there is one process only. Not `alone`: nobody waits.
  KernelTurn(bool alone, const std::string& path);
  KernelTurn(const KernelTurn&) = delete;
  KernelTurn& operator=(const KernelTurn&) = delete;

  void lock();
  void unlock();
  /// In a child of fork(), which must not hold what its parent locks.
  void leave_to_parent();

 private:
  const bool alone_;
  std::mutex mutex_;
  int file_ = -1;
};

}  // namespace rondo::standin
