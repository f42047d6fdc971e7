// SPDX-License-Identifier: Apache-2.0
// Arithmetic on single elements: how each type is read into an accumulator, combined and written back. Device
// code. kernels/reduce.h defines the rules.
#pragma once

#include <complex>
#include <limits>
#include <type_traits>

#include "base/reduction.h"
#include "device.h"

namespace rondo::device {

/// Stands in for std::complex, which device code cannot use.
template <class Part>
struct Complex {
  Part re;
  Part im;
};

/// The device type for a storage type of RONDO_ELEMENT_TYPES.
template <class Storage>
struct OnDevice {
  using Type = Storage;
};
template <class Part>
struct OnDevice<std::complex<Part>> {
  using Type = Complex<Part>;
};

// Integers: computed in uint64_t, truncated to the type.
template <class T>
struct Element {
  using Accumulator = T;
  static RONDO_DEVICE T read(T value) { return value; }
  static RONDO_DEVICE T write(T value) { return value; }

  static RONDO_DEVICE T combine(Reduction op, T a, T b) {
    const auto wide_a = static_cast<uint64_t>(a), wide_b = static_cast<uint64_t>(b);
    switch (op) {
      case Reduction::Prod: return static_cast<T>(wide_a * wide_b);
      case Reduction::Min: return b < a ? b : a;
      case Reduction::Max: return a < b ? b : a;
      case Reduction::BitAnd: return static_cast<T>(wide_a & wide_b);
      case Reduction::BitOr: return static_cast<T>(wide_a | wide_b);
      case Reduction::BitXor: return static_cast<T>(wide_a ^ wide_b);
      case Reduction::LogicalAnd: return static_cast<T>(a != 0 && b != 0);
      case Reduction::LogicalOr: return static_cast<T>(a != 0 || b != 0);
      case Reduction::LogicalXor: return static_cast<T>((a != 0) != (b != 0));
      default: return static_cast<T>(wide_a + wide_b);
    }
  }
  static RONDO_DEVICE T divide(T value, int divisor) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(static_cast<int64_t>(value) / divisor);
    else
      return static_cast<T>(static_cast<uint64_t>(value) / static_cast<uint64_t>(divisor));
  }
};

template <>
struct Element<Bool8> {
  using Accumulator = bool;
  static RONDO_DEVICE bool read(Bool8 value) { return value.bits != 0; }
  static RONDO_DEVICE Bool8 write(bool value) { return {static_cast<uint8_t>(value)}; }
  static RONDO_DEVICE bool combine(Reduction op, bool a, bool b) {
    switch (op) {
      case Reduction::Prod:
      case Reduction::Min:
      case Reduction::BitAnd:
      case Reduction::LogicalAnd: return a && b;
      case Reduction::BitXor:
      case Reduction::LogicalXor: return a != b;
      default: return a || b;
    }
  }
  static RONDO_DEVICE bool divide(bool value, int) { return value; }
};

/// The only NaN that is ever written.
template <class T>
RONDO_DEVICE T quiet_nan() {
  if constexpr (sizeof(T) == 4)
    return bits_as<T>(uint32_t{0x7FC00000});
  else
    return bits_as<T>(uint64_t{0x7FF8000000000000});
}

template <class T>
RONDO_DEVICE bool is_negative(T value) {
  if constexpr (sizeof(T) == 4)
    return bits_as<uint32_t>(value) >> 31 != 0;
  else
    return bits_as<uint64_t>(value) >> 63 != 0;
}

template <class T>
struct RealElement {
  using Accumulator = T;
  static RONDO_DEVICE T read(T value) { return value; }
  static RONDO_DEVICE T write(T value) { return isnan(value) ? quiet_nan<T>() : value; }

  static RONDO_DEVICE T combine(Reduction op, T a, T b) {
    if (op == Reduction::Prod) return a * b;
    if (op != Reduction::Min && op != Reduction::Max) return a + b;
    if (isnan(a) || isnan(b)) return quiet_nan<T>();
    const bool a_is_less = a < b || (a == b && is_negative(a));  // -0 before +0
    return a_is_less == (op == Reduction::Min) ? a : b;
  }
  static RONDO_DEVICE T divide(T value, int divisor) { return value / static_cast<T>(divisor); }
};

template <>
struct Element<float> : RealElement<float> {};
template <>
struct Element<double> : RealElement<double> {};

template <SmallFloat T>
struct Element<T> : RealElement<float> {
  static RONDO_DEVICE float read(T value) { return widen(value); }
  static RONDO_DEVICE T write(float value) { return narrow<T>(value); }
};

template <class Part>
struct Element<Complex<Part>> {
  using Accumulator = Complex<Part>;
  using Real = Element<Part>;
  static RONDO_DEVICE Accumulator read(Accumulator value) { return value; }
  static RONDO_DEVICE Accumulator write(Accumulator value) {
    return {Real::write(value.re), Real::write(value.im)};
  }
  // Schoolbook formula, each step rounded: must not be contracted to fused multiply-add.
  static RONDO_DEVICE Accumulator combine(Reduction op, Accumulator a, Accumulator b) {
    if (op != Reduction::Prod) return {a.re + b.re, a.im + b.im};
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  static RONDO_DEVICE Accumulator divide(Accumulator value, int divisor) {
    return {Real::divide(value.re, divisor), Real::divide(value.im, divisor)};
  }
};

}  // namespace rondo::device
