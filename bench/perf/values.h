// The ranks' inputs for one element of a reduction, chosen so that the result is known exactly: whatever the
// order in which the operands are combined, no intermediate result has to be rounded in the type. Pure
// functions: any thread.
//
//   sum, avg, mulsum   whole numbers whose magnitudes add up to no more than the type counts in ones; avg
//   then has
//                      one rounding, that of the division at the end
//   prod               few odd factors and small powers of two, so that every partial product fits the
//   mantissa min, max           any finite numbers integers           any bits where wrapping makes the order
//   irrelevant; avg in bounds, because it does not bitwise, logical   patterns that a single rank decides, or
//   none
//
// With more ranks than the type can count (8 for f8e5m2, 16 for f8e4m3), some of them put in 0 for an
// element, and others for the next.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "types.h"

namespace rondo::perf {

/// A value of any type: integers and bools in `bits` (negative ones in 64-bit two's complement), floats and
/// complex numbers in `real`, which holds all of the above exactly.
struct Value {
  uint64_t bits = 0;
  std::complex<double> real;
};

/// The inputs of ranks 0 to nranks - 1 for the element that `seed` stands for.
std::vector<Value> input_values(const Type& type, Op op, int nranks, uint64_t seed);

/// What a rank's input is multiplied by in a pre-multiplied sum.
Value scalar_value(const Type& type, int rank);

/// The reduction of the inputs of ranks first to last, for `nranks` ranks (which avg divides by).
Value expected_value(const Type& type, Op op, const std::vector<Value>& inputs, int first, int last,
                     int nranks);

/// The element's bytes in memory; `out` has room for type.bytes.
void store(const Type& type, const Value& value, void* out);

}  // namespace rondo::perf
