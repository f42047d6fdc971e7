// SPDX-License-Identifier: Apache-2.0
// The ranks' inputs for one element of a reduction, chosen so that the result is known exactly: in whatever
// order the operands are combined, no intermediate result needs rounding in the type. Pure functions: any
// thread.
//
//   sum, avg, mulsum   whole numbers whose magnitudes add up to at most what the type can count in ones; avg
//                      then rounds once, in the final division
//   prod               few odd factors and small powers of two, so that every partial product fits the
//                      mantissa
//   min, max           any finite numbers
//   integers           any bits, since wrapping makes the order irrelevant; for avg bounded numbers, since
//                      for it wrapping does not
//   bitwise, logical   patterns that a single rank decides, or none
//
// With more ranks than the type can count (8 for f8e5m2, 16 for f8e4m3), some ranks contribute 0 to an
// element, and others to the next.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "types.h"

namespace rondo::perf {

/// A value of any type: integers and bools in `bits` (negative ones in 64-bit two's complement), floats and
/// complex numbers in `real`, which represents all of them exactly.
struct Value {
  uint64_t bits = 0;
  std::complex<double> real;
};

/// The inputs of ranks 0 to nranks - 1 for the element identified by `seed`.
std::vector<Value> input_values(const TypeRow& type, Op op, int nranks, uint64_t seed);

/// The factor of a rank's input in a pre-multiplied sum.
Value scalar_value(const TypeRow& type, int rank);

/// The reduction of the inputs of ranks first to last; avg divides by `nranks`.
Value expected_value(const TypeRow& type, Op op, const std::vector<Value>& inputs, int first, int last,
                     int nranks);

/// Writes the element to `out`, which has room for type.bytes.
void store(const TypeRow& type, const Value& value, void* out);

}  // namespace rondo::perf
