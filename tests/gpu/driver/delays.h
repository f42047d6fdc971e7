// SPDX-License-Identifier: Apache-2.0
// Delays: short pauses before the operations of a stream, determined by a seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "xorshift.h"

namespace rondo::standin {

class Delays {
 public:
  Delays(uint64_t seed, uint64_t stream) : random_(seed, stream) {}

  void pause() {
    if (!random_.is_seeded()) return;
    const uint64_t drawn = random_.next();
    if (drawn % 4 == 0) return;
    const uint64_t most_us = drawn % 16 == 1 ? 1000 : 100;
    std::this_thread::sleep_for(std::chrono::microseconds((drawn >> 8) % most_us));
  }

 private:
  XorShift random_;
};

}  // namespace rondo::standin
