// SPDX-License-Identifier: Apache-2.0
// Converts floats of any format to and from their bits, one at a time. The benchmark has its own arithmetic
// so that it does not check the library against itself. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.h"

namespace rondo::perf {

/// The bits of `value`, rounded to nearest even. On overflow: infinity, or the largest number if the format
/// has no infinity.
uint64_t encode_float(const FloatFormat& format, double value);

/// The value of the bits; NaN if they encode a NaN.
double decode_float(const FloatFormat& format, uint64_t bits);

/// Whether the bits encode a finite number.
bool is_finite(const FloatFormat& format, uint64_t bits);

}  // namespace rondo::perf
