// SPDX-License-Identifier: Apache-2.0
// The reduction as defined: element by element, source by source.
#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/reduce.h"
#include "kernels/small_float.h"
#include "plain_copy.h"

namespace rondo {
namespace {

// How an element of storage type T is read into its accumulator and written back.
template <class T>
struct Stored {
  using Accumulator = T;
  static T read(T value) { return value; }
  static T write(T value) { return value; }
};

template <std::floating_point T>
struct Stored<T> {
  using Accumulator = T;
  static T read(T value) { return value; }
  // Always the same NaN: CPUs differ in which operand's NaN an addition propagates.
  static T write(T value) { return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value; }
};

template <class Part>
struct Stored<std::complex<Part>> {
  using Accumulator = std::complex<Part>;
  static Accumulator read(Accumulator value) { return value; }
  static Accumulator write(Accumulator value) {
    return {Stored<Part>::write(value.real()), Stored<Part>::write(value.imag())};
  }
};

template <SmallFloat T>
struct Stored<T> {
  using Accumulator = float;
  static float read(T value) { return to_float(value); }
  static T write(float value) { return round_to<T>(value); }
};

template <>
struct Stored<Bool8> {
  using Accumulator = bool;
  static bool read(Bool8 value) { return value.bits != 0; }
  static Bool8 write(bool value) { return {static_cast<uint8_t>(value)}; }
};

template <std::integral T>
uint64_t widened(T value) {
  return static_cast<uint64_t>(value);
}

// Integers are computed in uint64_t: truncated to T, the result is the wrapped one.
template <std::integral T>
T combine(Reduction op, T a, T b) {
  const uint64_t wide_a = widened(a), wide_b = widened(b);
  switch (op) {
    case Reduction::Sum:
    case Reduction::Avg: return static_cast<T>(wide_a + wide_b);
    case Reduction::Prod: return static_cast<T>(wide_a * wide_b);
    case Reduction::Min: return b < a ? b : a;
    case Reduction::Max: return a < b ? b : a;
    case Reduction::BitAnd: return static_cast<T>(wide_a & wide_b);
    case Reduction::BitOr: return static_cast<T>(wide_a | wide_b);
    case Reduction::BitXor: return static_cast<T>(wide_a ^ wide_b);
    case Reduction::LogicalAnd: return static_cast<T>(a != 0 && b != 0);
    case Reduction::LogicalOr: return static_cast<T>(a != 0 || b != 0);
    case Reduction::LogicalXor: return static_cast<T>((a != 0) != (b != 0));
  }
  return a;
}

template <std::floating_point T>
T combine(Reduction op, T a, T b) {
  if (op == Reduction::Prod) return a * b;
  if (op != Reduction::Min && op != Reduction::Max) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  const bool a_is_less = a < b || (a == b && std::signbit(a));  // -0 before +0
  return a_is_less == (op == Reduction::Min) ? a : b;
}

// Schoolbook product: std::complex's own repairs some infinities, in a compiler-dependent way.
template <class Part>
std::complex<Part> combine(Reduction op, std::complex<Part> a, std::complex<Part> b) {
  if (op != Reduction::Prod) return {a.real() + b.real(), a.imag() + b.imag()};
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class A>
A divide(A value, int divisor) {
  if constexpr (std::is_same_v<A, bool>) {
    return value;
  } else if constexpr (std::unsigned_integral<A>) {
    return static_cast<A>(static_cast<uint64_t>(value) / static_cast<uint64_t>(divisor));
  } else if constexpr (std::signed_integral<A>) {
    return static_cast<A>(static_cast<int64_t>(value) / divisor);
  } else if constexpr (std::floating_point<A>) {
    return value / static_cast<A>(divisor);
  } else {
    return {divide(value.real(), divisor), divide(value.imag(), divisor)};
  }
}

template <class T>
auto element(const void* source, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(source) + index * sizeof(T), sizeof(T));
  return Stored<T>::read(value);
}

// `bool` is treated as an integer with two values: converting its sum back to bool yields `or`.
template <class T>
void reduce_elements(const ReduceArgs& args) {
  using A = typename Stored<T>::Accumulator;
  const auto operand = [&args](size_t source, size_t index) -> A {
    const A value = element<T>(args.sources[source], index);
    if (static_cast<int>(source) != args.scaled_source) return value;
    const A product = combine(Reduction::Prod, value, A(element<T>(args.scalar, 0)));
    return Stored<T>::read(Stored<T>::write(product));
  };
  for (size_t i = 0; i < args.count; ++i) {
    A result = operand(0, i);
    for (size_t k = 1; k < args.sources.size(); ++k) result = combine(args.op, result, operand(k, i));
    if (args.divisor != 1) result = divide(result, args.divisor);
    const T stored = Stored<T>::write(result);
    std::memcpy(static_cast<std::byte*>(args.out) + i * sizeof(T), &stored, sizeof(T));
  }
}

}  // namespace

void reduce_reference(const ReduceArgs& args) {
  if (is_plain_copy(args)) return plain_copy(args);
  switch (args.type) {
#define X(enumerator, constant, name, storage, kind) \
  case ElementType::enumerator: return reduce_elements<storage>(args);
    RONDO_ELEMENT_TYPES(X)
#undef X
  }
}

}  // namespace rondo
