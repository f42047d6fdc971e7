// The vector kernels behind reduce(), one function for each file of kernels. Each runs on the best
// instruction set of the CPU, computes exactly what reduce_reference() does, and takes the arguments that its
// comment names; reduce() routes every call to one that fits. Pure functions: any thread.
#pragma once

#include "kernels/reduce.h"

namespace rondo {

// sum, avg, prod, min and max of floats, with scaled source and divisor in sum and avg.
void fold_float32(const ReduceArgs& args);
void fold_float64(const ReduceArgs& args);
void fold_float16(const ReduceArgs& args);
void fold_bfloat16(const ReduceArgs& args);
void fold_float8(const ReduceArgs& args);

// prod, and sum with a scaled source and a divisor, of complex numbers.
void fold_complex(const ReduceArgs& args);

// sum (with a scaled source) and prod of integers.
void fold_integer_arithmetic(const ReduceArgs& args);
// min and max of integers.
void fold_integer_order(const ReduceArgs& args);
// bitwise and logical operations on integers.
void fold_integer_logic(const ReduceArgs& args);

/// Divides every element of `out` by the divisor, towards zero; integers only.
void divide_integers(const ReduceArgs& args);

}  // namespace rondo
