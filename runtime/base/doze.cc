#include "base/doze.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace rondo {
namespace {

void sleep_for(AlreadyThere, const timespec&) {}

void sleep_for(std::monostate, const timespec& most) { ::nanosleep(&most, nullptr); }

/// The word stays set where nobody wakes this thread: the counter's writer then does it in vain, once.
void sleep_for(const AwaitedCounter& awaited, const timespec& most) {
  // First the word, then the counter; the writer does it the other way round.
  std::atomic_ref(*awaited.asleep).store(1, std::memory_order_seq_cst);
  if (std::atomic_ref(*awaited.counter).load(std::memory_order_seq_cst) != awaited.seen) return;
  // Returns at once where the word has been cleared since.
  ::syscall(SYS_futex, awaited.asleep, FUTEX_WAIT, 1, &most, nullptr, 0);
}

void sleep_for(AwaitedSockets awaited, const timespec& most) {
  ::ppoll(awaited.sockets.data(), awaited.sockets.size(), &most, nullptr);
}

}  // namespace

void doze(const Awaited& awaited, int64_t ns) {
  const timespec most{0, ns};
  std::visit([&](const auto& what) { sleep_for(what, most); }, awaited);
}

/// All of them, since they can wait for different things.
void wake_sleepers(uint32_t& asleep) {
  std::atomic_ref(asleep).store(0, std::memory_order_relaxed);
  ::syscall(SYS_futex, &asleep, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rondo
