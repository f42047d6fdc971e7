// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rondo::fabric {

/// Draws for what a device leaves open. Without a seed nothing is left open: no draw hits.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t which) : state_(seed == 0 ? 0 : seed * 0x9E3779B97F4A7C15U + which + 1) {}

  explicit operator bool() const { return state_ != 0; }
  bool one_in(uint64_t n) { return state_ != 0 && below(n) == 0; }
  /// 0 without a seed.
  uint64_t below(uint64_t n) { return state_ == 0 || n == 0 ? 0 : (next() >> 11) % n; }

 private:
  uint64_t next() {  // xorshift64
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  uint64_t state_;
};

}  // namespace rondo::fabric
