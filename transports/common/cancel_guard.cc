// SPDX-License-Identifier: Apache-2.0
#include "common/cancel_guard.h"

#include <atomic>
#include <utility>

#include "base/backoff.h"
#include "transports/zero_copy.h"

namespace rondo {

// Dekker's pattern: the sender sets `cancelled` and then loads `reading`; the receiver sets `reading` and
// then loads `cancelled`. All four are seq_cst, so at least one of the two sees the other.

void CancelGuard::cancel() {
  if (std::exchange(has_cancelled_, true)) return;
  std::atomic_ref(words_->cancelled).store(1, std::memory_order_seq_cst);
  // Pairs with the release store in end_reading(): the receiver's reads happen before the buffer's reuse.
  static_cast<void>(
      wait_until([this] { return std::atomic_ref(words_->reading).load(std::memory_order_seq_cst) == 0; },
                 Deadline::in_ms(ZeroCopy::kCancelMs)));
}

bool CancelGuard::begin_reading() {
  if (reads_) return true;
  std::atomic_ref(words_->reading).store(1, std::memory_order_seq_cst);
  reads_ = std::atomic_ref(words_->cancelled).load(std::memory_order_seq_cst) == 0;
  if (!reads_) std::atomic_ref(words_->reading).store(0, std::memory_order_release);
  return reads_;
}

bool CancelGuard::is_undisturbed() const {
  if (!reads_) return true;
  // The acq_rel exchange keeps the earlier reads before it and the load below after it.
  std::atomic_ref(words_->reading).exchange(1, std::memory_order_acq_rel);
  return std::atomic_ref(words_->cancelled).load(std::memory_order_relaxed) == 0;
}

void CancelGuard::end_reading() {
  if (!reads_) return;
  reads_ = false;
  // Pairs with the seq_cst load in cancel().
  std::atomic_ref(words_->reading).store(0, std::memory_order_release);
}

}  // namespace rondo
