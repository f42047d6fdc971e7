// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"
#include "base/park.h"

namespace rondo {
namespace {

constexpr uint32_t kOversubscribedSpins = 1;
constexpr uint32_t kMinSpins = 64;
constexpr uint32_t kMaxSpins = 2048;
constexpr uint32_t kFewYields = 2;
constexpr uint32_t kTurnsBetweenLooks = 64;
constexpr int64_t kYieldFor_ns = 5'000'000;
constexpr int64_t kBetweenLooks_ns = 10'000'000;

// The event that ends a wait usually ends the sleep too, but not always. So a sleep, by which the event may
// be noticed late, is a small part of the wait so far, and in the end long enough to use little CPU: a wakeup
// costs 15 to 50 us of it.
constexpr int64_t kWaitedPerNap = 64;
constexpr int64_t kMinNap_ns = 100'000;
constexpr int64_t kMaxNap_ns = 4'000'000;

thread_local uint32_t learned_spins = kMaxSpins;

}  // namespace

uint32_t Backoff::spins() const { return oversubscribed_ ? kOversubscribedSpins : learned_spins; }

void Backoff::learn() const {
  if (oversubscribed_) return;
  if (turns_ < spins())
    learned_spins = std::min(learned_spins * 2, kMaxSpins);
  else if (turns_ < spins() + kFewYields)
    learned_spins = std::max(learned_spins / 4, kMinSpins);
}

bool Backoff::wait() {
  if (++turns_ < spins()) return false;
  if (waited_ns_ < kYieldFor_ns || since_ns_ == 0) {
    ::sched_yield();
    if (turns_ % kTurnsBetweenLooks != 0 && since_ns_ != 0) return false;
  } else {
    const int64_t ns = std::clamp(waited_ns_ / kWaitedPerNap, kMinNap_ns, kMaxNap_ns);
    if (sleep_)
      sleep_(ns);
    else
      park({}, ns);
  }
  const int64_t now = now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  waited_ns_ = now - since_ns_;
  return true;
}

bool Backoff::is_due() {
  const int64_t now = now_ns();
  if (now < due_ns_) return false;
  due_ns_ = now + kBetweenLooks_ns;
  return true;
}

}  // namespace rondo
