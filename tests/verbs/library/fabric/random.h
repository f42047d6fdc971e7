// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "xorshift.h"

namespace rondo::fabric {

/// Draws for what a device leaves open. Without a seed nothing is left open: no draw hits.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t which) : random_(seed, which) {}

  explicit operator bool() const { return random_.is_seeded(); }
  bool one_in(uint64_t n) { return random_.is_seeded() && below(n) == 0; }
  /// 0 without a seed.
  uint64_t below(uint64_t n) { return !random_.is_seeded() || n == 0 ? 0 : (random_.next() >> 11) % n; }

 private:
  XorShift random_;
};

}  // namespace rondo::fabric
