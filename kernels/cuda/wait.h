// SPDX-License-Identifier: Apache-2.0
// How a thread of a block waits, and how a block stops a call that cannot continue. Device code.
#pragma once

#include "device.h"
#include "program.h"

namespace rondo::device {

RONDO_DEVICE bool is_stopped(const CallHealth& health) { return load_relaxed(&health.stop) != 0; }

/// One thread's polling loop. Host memory is far away, so only every kLooksPerStop-th poll checks for a stop.
class Wait {
 public:
  RONDO_DEVICE Wait(Block& block, const CallHealth& health) : block_(block), health_(health) {}
  /// Called after an unsuccessful poll; whether the call is stopped.
  RONDO_DEVICE bool stopped() {
    block_.pause();
    return ++looks_ % kLooksPerStop == 0 && is_stopped(health_);
  }

 private:
  Block& block_;
  const CallHealth& health_;
  uint32_t looks_ = 0;
};

/// Reports an unexpected message on a connection and stops the rank's blocks. Only the first report is kept,
/// and none after a failure, since stopped calls leave messages behind. `write_rest` writes the details.
template <class WriteRest>
RONDO_DEVICE void report_mismatch(CallHealth& health, uint64_t connection, WriteRest write_rest) {
  if (!is_stopped(health) && exchange(&health.mismatch, 1) == 0) {
    write(&health.connection, connection);
    write_rest();
  }
  // Pairs with the host's acquire load, after which it reads the report.
  store_release(Word::Stop, &health.stop, 1);
}

}  // namespace rondo::device
