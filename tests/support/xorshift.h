// SPDX-License-Identifier: Apache-2.0
// XorShift: Marsaglia's xorshift64, for stand-ins whose behaviour a seed determines.
#pragma once

#include <cstdint>

namespace rondo {

class XorShift {
 public:
  /// Each `stream` of a seed has other numbers. With a seed of 0 nothing is drawn.
  XorShift(uint64_t seed, uint64_t stream)
      : state_(seed == 0 ? 0 : seed * 0x9E3779B97F4A7C15U + stream + 1) {}

  bool is_seeded() const { return state_ != 0; }
  /// Requires a seed.
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_;
};

}  // namespace rondo
