#include "common/withdrawal.h"

#include <atomic>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "transports/connection.h"

namespace rondo {

// The sender raises `withdrawn` and then looks at `reading`; the receiver raises `reading` and then looks at
// `withdrawn`. Both orders are sequentially consistent, so at least one of them sees the other.

void Withdrawal::take_back() {
  if (std::exchange(has_taken_back_, true)) return;
  std::atomic_ref(words_->withdrawn).store(1, std::memory_order_seq_cst);
  const Deadline deadline = Deadline::in_ms(Connection::kWithdrawMs);
  // Acquires the release store in end_reading(): the receiver's reads come before what the owner does next.
  while (std::atomic_ref(words_->reading).load(std::memory_order_seq_cst) != 0 && !deadline.passed())
    std::this_thread::yield();
}

bool Withdrawal::begin_reading() {
  if (reads_) return true;
  std::atomic_ref(words_->reading).store(1, std::memory_order_seq_cst);
  reads_ = std::atomic_ref(words_->withdrawn).load(std::memory_order_seq_cst) == 0;
  if (!reads_) std::atomic_ref(words_->reading).store(0, std::memory_order_release);
  return reads_;
}

bool Withdrawal::is_undisturbed() const {
  if (!reads_) return true;
  // The exchange keeps the reads that were made before it, and the load behind it.
  std::atomic_ref(words_->reading).exchange(1, std::memory_order_acq_rel);
  return std::atomic_ref(words_->withdrawn).load(std::memory_order_relaxed) == 0;
}

void Withdrawal::end_reading() {
  if (!reads_) return;
  reads_ = false;
  // Pairs with the load in take_back().
  std::atomic_ref(words_->reading).store(0, std::memory_order_release);
}

}  // namespace rondo
