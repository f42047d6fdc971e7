// SPDX-License-Identifier: Apache-2.0
// Elements for testing reductions: plain values, random bits, and special values of the arithmetic.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/element.h"
#include "base/reduction.h"
#include "kernels/vector_target.h"

namespace rondo {

using Bytes = std::vector<uint8_t>;

/// `count` elements of the type: a third special values, a third small numbers, a third random bits.
void fill_samples(std::span<uint8_t> bytes, ElementType type, std::mt19937_64& random);

/// The bytes of one element in hexadecimal, lowest byte first.
std::string hex(const uint8_t* element, size_t bytes);

inline std::vector<ElementType> all_types() {
  std::vector<ElementType> types;
  types.reserve(kElementTypes);
  for (int i = 0; i < kElementTypes; ++i) types.push_back(static_cast<ElementType>(i));
  return types;
}

/// The alignment of pointers to elements on a device.
inline size_t device_alignment(ElementType type) {
  const ElementInfo& info = element_info(type);
  return info.kind == ElementClass::Complex ? info.bytes / 2 : info.bytes;
}

inline std::vector<Reduction> reductions_of(ElementType type) {
  std::vector<Reduction> reductions;
  for (int i = 0; i < kReductions; ++i) {
    const auto reduction = static_cast<Reduction>(i);
    if (reduction_takes(reduction, type)) reductions.push_back(reduction);
  }
  return reductions;
}

/// Runs the function on every instruction set of this CPU, then restores the best one.
template <class Function>
void on_every_target(Function function) {
  for (const std::string& target : vector_targets()) {
    use_vector_target(target);
    function(target);
  }
  use_vector_target("");
}

}  // namespace rondo
