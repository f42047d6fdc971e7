// SPDX-License-Identifier: Apache-2.0
#include "base/park.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace rondo {
namespace {

void sleep_for(AlreadyThere, const timespec&) {}

void sleep_for(std::monostate, const timespec& most) { ::nanosleep(&most, nullptr); }

/// The flag stays set if the sleep times out: the counter's writer then makes one unneeded wake call.
void sleep_for(const AwaitedCounter& awaited, const timespec& most) {
  // Stores the flag, then loads the counter; the writer stores the counter, then loads the flag.
  std::atomic_ref(*awaited.asleep).store(1, std::memory_order_seq_cst);
  if (std::atomic_ref(*awaited.counter).load(std::memory_order_seq_cst) != awaited.seen) return;
  // Returns at once if the flag has been cleared since.
  ::syscall(SYS_futex, awaited.asleep, FUTEX_WAIT, 1, &most, nullptr, 0);
}

void sleep_for(AwaitedSockets awaited, const timespec& most) {
  ::ppoll(awaited.sockets.data(), awaited.sockets.size(), &most, nullptr);
}

}  // namespace

void park(const Awaited& awaited, int64_t ns) {
  const timespec most{0, ns};
  std::visit([&](const auto& what) { sleep_for(what, most); }, awaited);
}

/// Wakes all of them, since they may await different values.
void wake_sleepers(uint32_t& asleep) {
  std::atomic_ref(asleep).store(0, std::memory_order_relaxed);
  ::syscall(SYS_futex, &asleep, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rondo
