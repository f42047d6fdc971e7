// SPDX-License-Identifier: Apache-2.0
// Pseudo-random numbers that depend only on their arguments, so every rank generates the same ones. Any
// thread.
#pragma once

#include <cstdint>

namespace rondo::perf {

/// A sequence of 64-bit numbers from a seed (a counter, mixed as in Steele, Lea and Flood's SplitMix, 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  /// Returns a number in [0, bound); `bound` is at least 1.
  uint64_t below(uint64_t bound) { return next() % bound; }

 private:
  uint64_t state_;
};

/// Derives a distinct seed from each pair.
inline uint64_t mix(uint64_t a, uint64_t b) { return Random(a ^ Random(b).next()).next(); }

}  // namespace rondo::perf
