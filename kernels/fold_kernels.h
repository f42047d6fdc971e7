// SPDX-License-Identifier: Apache-2.0
// The vector kernels behind reduce(), one function per file. Each runs on the CPU's best instruction set,
// computes exactly what reduce_reference() does, and supports the arguments that its comment names; reduce()
// dispatches every call to a suitable one. Pure functions, thread-safe.
#pragma once

#include "kernels/reduce.h"

namespace rondo {

// sum, avg, prod, min and max of floats; sum and avg with a scaled source and a divisor.
void fold_float32(const ReduceArgs& args);
void fold_float64(const ReduceArgs& args);
void fold_float16(const ReduceArgs& args);
void fold_bfloat16(const ReduceArgs& args);
void fold_small_floats(const ReduceArgs& args);  // all but the two above

// prod, and sum with a scaled source and a divisor, of complex numbers.
void fold_complex(const ReduceArgs& args);

// sum (with a scaled source) and prod of integers.
void fold_integer_arithmetic(const ReduceArgs& args);
// min and max of integers.
void fold_integer_order(const ReduceArgs& args);
// bitwise and logical operations on integers.
void fold_integer_logic(const ReduceArgs& args);

/// Divides every element of `out` by the divisor, rounding towards zero; integers only.
void divide_integers(const ReduceArgs& args);

}  // namespace rondo
