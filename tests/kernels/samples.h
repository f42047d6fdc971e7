// Elements to test reductions with: plain values, random bits and the values where arithmetic turns special.
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

/// `count` elements of the type: a third special ones, a third small numbers, a third random bits.
void fill_samples(std::span<uint8_t> bytes, ElementType type, std::mt19937_64& random);

/// The bytes of one element as hexadecimal digits, lowest byte first.
std::string hex(const uint8_t* element, size_t bytes);

inline std::vector<ElementType> all_types() {
  std::vector<ElementType> types;
  types.reserve(kElementTypes);
  for (int i = 0; i < kElementTypes; ++i) types.push_back(static_cast<ElementType>(i));
  return types;
}

/// What pointers to elements are aligned to on a device.
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

/// Runs the function on every instruction set that this CPU has, then returns to the best.
template <class Function>
void on_every_target(Function function) {
  for (const std::string& target : vector_targets()) {
    use_vector_target(target);
    function(target);
  }
  use_vector_target("");
}

}  // namespace rondo
