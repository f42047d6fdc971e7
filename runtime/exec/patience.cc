#include "exec/patience.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"
#include "base/doze.h"

namespace rondo {
namespace {

constexpr uint32_t kCrowdedSpins = 1;
constexpr uint32_t kLeastSpins = 64;
constexpr uint32_t kMostSpins = 2048;
constexpr uint32_t kFewYields = 2;
constexpr uint32_t kTurnsBetweenLooks = 64;
constexpr int64_t kYieldFor_ns = 5'000'000;

// What ends the wait mostly ends the nap as well; but not everything does that can. So a nap is a small part
// of the wait so far, by which the end may be noticed late, and at last long enough to take little of a CPU:
// to wake up costs 15 to 50 us of it.
constexpr int64_t kWaitedPerNap = 64;
constexpr int64_t kLeastNap_ns = 100'000;
constexpr int64_t kMostNap_ns = 4'000'000;

thread_local uint32_t learned_spins = kMostSpins;

}  // namespace

uint32_t Patience::spins() const { return crowded_ ? kCrowdedSpins : learned_spins; }

void Patience::learn() const {
  if (crowded_) return;
  if (turns_ < spins())
    learned_spins = std::min(learned_spins * 2, kMostSpins);
  else if (turns_ < spins() + kFewYields)
    learned_spins = std::max(learned_spins / 4, kLeastSpins);
}

bool Patience::wait() {
  if (++turns_ < spins()) return false;
  if (waited_ns_ < kYieldFor_ns || since_ns_ == 0) {
    ::sched_yield();
    if (turns_ % kTurnsBetweenLooks != 0 && since_ns_ != 0) return false;
  } else {
    const int64_t ns = std::clamp(waited_ns_ / kWaitedPerNap, kLeastNap_ns, kMostNap_ns);
    if (nap_)
      nap_(ns);
    else
      doze({}, ns);
  }
  const int64_t now = now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  waited_ns_ = now - since_ns_;
  return true;
}

}  // namespace rondo
