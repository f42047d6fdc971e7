// Floats of any format to and from their bits, one at a time: the benchmark's own arithmetic, so that it does
// not check the library with the library's. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.h"

namespace rondo::perf {

/// The bits of `value`, rounded to nearest even. Beyond the largest number: infinity, or the largest number
/// where the format has no infinity.
uint64_t encode_float(const FloatFormat& format, double value);

/// The value of the bits; NaN where they are one.
double decode_float(const FloatFormat& format, uint64_t bits);

/// Whether the bits are a number, neither NaN nor infinity.
bool is_finite(const FloatFormat& format, uint64_t bits);

}  // namespace rondo::perf
