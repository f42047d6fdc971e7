// What both twins of gpu/device.h have in common: values, which need no memory that others see.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/element.h"
#include "kernels/small_float.h"

#define RONDO_DEVICE inline
#define RONDO_DEVICE_CALLED

namespace rondo::device {

using std::isnan;

struct alignas(16) Pack {
  uint32_t words[4];
};

template <class To, class From>
RONDO_DEVICE To bits_as(const From& from) {
  return std::bit_cast<To>(from);
}

template <SmallFloat T>
RONDO_DEVICE float widen(T value) {
  return to_float(value);
}
template <SmallFloat T>
RONDO_DEVICE T narrow(float value) {
  return round_to<T>(value);
}

}  // namespace rondo::device
