// SPDX-License-Identifier: Apache-2.0
// PackMath: a FoldTask's arithmetic on 16 bytes at a time, for one type and operation. Device code.
#pragma once

#include "arithmetic.h"
#include "fold.h"

namespace rondo::device {

template <class T, Reduction kOp>
class PackMath {
 public:
  using Math = Element<T>;
  using Accumulator = typename Math::Accumulator;
  static constexpr int kElements = sizeof(Pack) / sizeof(T);
  static constexpr bool kIsSum = kOp == Reduction::Sum;  // nothing else is scaled or divided

  /// The accumulators of a Pack's elements.
  struct Values {
    Accumulator of[kElements];
  };

  explicit RONDO_DEVICE PackMath(const FoldTask& task) : task_(task) {}

  /// read() converts an element of source k to an accumulator, finished() a result back.
  RONDO_DEVICE Accumulator read(int k, T element) const {
    const Accumulator value = Math::read(element);
    if (!kIsSum || (task_.scaled >> k & 1) == 0) return value;
    T scalar;
    memcpy(&scalar, task_.scalars[k * task_.scalar_step].bytes, sizeof scalar);
    return Math::read(Math::write(Math::combine(Reduction::Prod, value, Math::read(scalar))));
  }
  RONDO_DEVICE T finished(Accumulator value) const {
    return Math::write(!kIsSum || task_.divisor == 1 ? value : Math::divide(value, task_.divisor));
  }
  RONDO_DEVICE Accumulator combine(Accumulator a, Accumulator b) const { return Math::combine(kOp, a, b); }

  RONDO_DEVICE Values values_of(int k, const Pack& pack) const {
    T elements[kElements];
    memcpy(elements, &pack, sizeof pack);
    Values values;
    for (int i = 0; i < kElements; ++i) values.of[i] = read(k, elements[i]);
    return values;
  }
  RONDO_DEVICE Pack pack_of(const Values& values) const {
    T elements[kElements];
    for (int i = 0; i < kElements; ++i) elements[i] = finished(values.of[i]);
    Pack pack;
    memcpy(&pack, elements, sizeof pack);
    return pack;
  }
  RONDO_DEVICE Values combine(const Values& a, const Values& b) const {
    Values values;
    for (int i = 0; i < kElements; ++i) values.of[i] = combine(a.of[i], b.of[i]);
    return values;
  }

 private:
  const FoldTask& task_;
};

/// PackMath for a single source with nothing to compute.
class PackCopy {
 public:
  using Values = Pack;
  explicit RONDO_DEVICE PackCopy(const FoldTask&) {}
  RONDO_DEVICE Values values_of(int, const Pack& pack) const { return pack; }
  RONDO_DEVICE Pack pack_of(const Values& values) const { return values; }
  RONDO_DEVICE Values combine(const Values& a, const Values&) const { return a; }
};

}  // namespace rondo::device
