// Comparison: two stretches of memory whose elements ought to be alike, as the host hands them to a kernel.
// Plain data, copied at the launch.
#pragma once

#include <cstdint>

namespace rondo::device {

/// An element is `parts` numbers of `part_bytes` (1, 2, 4 or 8) each, to which both stretches are aligned.
struct Comparison {
  const void* found;
  const void* expected;
  uint64_t count;       // elements
  uint32_t part_bytes;  // complex numbers have two parts
  uint32_t parts;
  uint32_t zeros_alike;  // 1: a part that is all zeros but for its first bit, a float's sign, is like any
                         // other such
  uint64_t* different;   // what is added to: the elements that differ
};

}  // namespace rondo::device
