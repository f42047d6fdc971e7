// How a thread of a block waits, and how a block ends a call that cannot go on. Device code.
#pragma once

#include "device.h"
#include "program.h"

namespace rondo::device {

RONDO_DEVICE bool is_stopped(const CallHealth& health) { return load_relaxed(&health.stop) != 0; }

/// One thread's wait for what others write. The host's memory is far away, so it looks there now and then.
class Wait {
 public:
  RONDO_DEVICE Wait(Block& block, const CallHealth& health) : block_(block), health_(health) {}
  /// After a look that found nothing: whether the call is stopped.
  RONDO_DEVICE bool stopped() {
    block_.pause();
    return ++looks_ % kLooksPerStop == 0 && is_stopped(health_);
  }

 private:
  Block& block_;
  const CallHealth& health_;
  uint32_t looks_ = 0;
};

/// Says that another message came on a connection than should have, and stops the rank's blocks. The first
/// one is kept. After a failure none means anything: calls that were stopped leave messages behind.
/// `write_rest` writes what is known of it.
template <class WriteRest>
RONDO_DEVICE void report_mismatch(CallHealth& health, uint64_t connection, WriteRest write_rest) {
  if (!is_stopped(health) && exchange(&health.mismatch, 1) == 0) {
    write(&health.connection, connection);
    write_rest();
  }
  // Pairs with the host's acquire load, which then reads the rest.
  store_release(Word::Stop, &health.stop, 1);
}

}  // namespace rondo::device
