// SPDX-License-Identifier: Apache-2.0
// Comparison: two memory ranges whose elements should be equal, as passed to a kernel. Plain data, copied at
// the launch.
#pragma once

#include <cstdint>

namespace rondo::device {

/// An element is `parts` numbers of `part_bytes` (1, 2, 4 or 8) each; both ranges are aligned to
/// `part_bytes`.
struct Comparison {
  const void* found;
  const void* expected;
  uint64_t count;       // elements
  uint32_t part_bytes;  // complex numbers have two parts
  uint32_t parts;
  uint32_t zeros_alike;  // 1: parts that are zero except for the top bit, a float's sign, are equal
  uint64_t* different;   // incremented by the number of elements that differ
};

}  // namespace rondo::device
