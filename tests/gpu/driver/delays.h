// SPDX-License-Identifier: Apache-2.0
// Delays: short pauses before the operations of a stream, determined by a seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace rondo::standin {

class Delays {
 public:
  Delays(uint64_t seed, uint64_t stream) : state_(seed == 0 ? 0 : seed * 0x9E3779B97F4A7C15u + stream + 1) {}

  void pause() {
    if (state_ == 0) return;
    const uint64_t drawn = next();
    if (drawn % 4 == 0) return;
    const uint64_t most_us = drawn % 16 == 1 ? 1000 : 100;
    std::this_thread::sleep_for(std::chrono::microseconds((drawn >> 8) % most_us));
  }

 private:
  uint64_t next() {  // xorshift64
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  uint64_t state_;
};

}  // namespace rondo::standin
