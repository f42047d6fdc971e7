// SPDX-License-Identifier: Apache-2.0
// Counts the elements that differ between two memory ranges. Device code.
#pragma once

#include "comparison.h"
#include "device.h"

namespace rondo::device {

template <class Part>
RONDO_DEVICE bool differs(const Comparison& task, uint64_t element) {
  const auto* found = static_cast<const Part*>(task.found) + element * task.parts;
  const auto* expected = static_cast<const Part*>(task.expected) + element * task.parts;
  for (uint32_t part = 0; part < task.parts; ++part) {
    const Part one = read(found + part);
    const Part other = read(expected + part);
    const bool zeros = static_cast<Part>(one << 1) == 0 && static_cast<Part>(other << 1) == 0;
    if (one != other && !(zeros && task.zeros_alike != 0)) return true;
  }
  return false;
}

template <class Part>
RONDO_DEVICE void compare_parts(const Comparison& task, uint64_t first, uint64_t step) {
  uint64_t different = 0;
  for (uint64_t i = first; i < task.count; i += step) different += differs<Part>(task, i) ? 1 : 0;
  if (different != 0) add(task.different, different);
}

/// One thread's share: every `step`-th element from `first` on.
RONDO_DEVICE void compare(const Comparison& task, uint64_t first, uint64_t step) {
  switch (task.part_bytes) {
    case 1: return compare_parts<uint8_t>(task, first, step);
    case 2: return compare_parts<uint16_t>(task, first, step);
    case 4: return compare_parts<uint32_t>(task, first, step);
    default: return compare_parts<uint64_t>(task, first, step);
  }
}

}  // namespace rondo::device
