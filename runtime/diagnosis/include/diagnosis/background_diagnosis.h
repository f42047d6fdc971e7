// SPDX-License-Identifier: Apache-2.0
// BackgroundDiagnosis: diagnose() on a thread of its own, since a rank that does not answer keeps it waiting.
// Used by one thread at a time.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "diagnosis/desync_report.h"

namespace rondo {

class BackgroundDiagnosis {
 public:
  /// Null if `busy` was set, because another one is under way; this one clears it at its end. `is_last`: the
  /// wait ends with it, so that the cause names a silent rank before one that has left.
  static std::unique_ptr<BackgroundDiagnosis> begin(std::atomic<bool>& busy, MembershipPtr membership,
                                                    PendingWait wait, bool is_last);
  /// Cuts it short.
  ~BackgroundDiagnosis();
  BackgroundDiagnosis(const BackgroundDiagnosis&) = delete;
  BackgroundDiagnosis& operator=(const BackgroundDiagnosis&) = delete;

  const PendingWait& wait() const { return wait_; }
  bool is_last() const { return is_last_; }
  /// Null until it is over.
  const DesyncReport* report() const {
    return is_over_.load(std::memory_order_acquire) ? &report_ : nullptr;  // pairs with run()
  }

 private:
  BackgroundDiagnosis(std::atomic<bool>& busy, MembershipPtr membership, PendingWait wait, bool is_last);
  void run();
  void find_out();

  std::atomic<bool>& busy_;
  const MembershipPtr membership_;
  const PendingWait wait_;
  const bool is_last_;
  std::atomic<bool> stops_{false};
  std::atomic<bool> is_over_{false};
  DesyncReport report_;
  std::thread thread_;
};

}  // namespace rondo
