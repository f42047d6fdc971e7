#include "exec/patience.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"

namespace rondo {
namespace {

constexpr uint32_t kTurnsBetweenLooks = 64;
constexpr int64_t kYieldFor_ns = 5'000'000;
constexpr int64_t kNapFor_ns = 200'000'000;
constexpr long kNap_ns = 100'000;
constexpr long kSleep_ns = 1'000'000;

}  // namespace

bool Patience::wait() {
  if (++turns_ < spins_) return false;
  if (waited_ns_ < kYieldFor_ns || since_ns_ == 0) {
    ::sched_yield();
    if (turns_ % kTurnsBetweenLooks != 0 && since_ns_ != 0) return false;
  } else {
    const timespec nap{0, waited_ns_ < kNapFor_ns ? kNap_ns : kSleep_ns};
    ::nanosleep(&nap, nullptr);
  }
  const int64_t now = now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  waited_ns_ = now - since_ns_;
  return true;
}

}  // namespace rondo
