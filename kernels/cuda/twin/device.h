// The seam between device code and the machine, for g++: the host twin of gpu/device.h, line for line.
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

RONDO_DEVICE Pack load(const Pack* at) { return *at; }
RONDO_DEVICE void store(Pack* at, const Pack& pack) { *at = pack; }

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
