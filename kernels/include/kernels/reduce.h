// SPDX-License-Identifier: Apache-2.0
// Host reductions over contiguous elements, using the CPU's widest vectors (selected at run time). Pure
// functions, thread-safe.
#pragma once

#include <cstddef>
#include <span>

#include "base/element.h"
#include "base/reduction.h"

namespace rondo {

/// out[i] = finish(sources[0][i] (op) sources[1][i] (op) ...), combined from left to right.
struct ReduceArgs {
  void* out = nullptr;
  std::span<const void* const>
      sources;       // at least one; `out` may be one of them, but must not overlap one partially
  size_t count = 0;  // elements
  ElementType type = ElementType::Float32;
  Reduction op = Reduction::Sum;  // Avg combines as Sum
  int divisor = 1;                // finish: divide by this (avg's number of ranks); integers truncate
  int scaled_source = -1;         // this source is multiplied by *scalar first (pre-multiplied sum)
  const void* scalar = nullptr;   // one element of `type`
};

/// 16-bit and 8-bit floats are combined in float32 and rounded once, to nearest even. A scaled source is
/// first rounded to its type, so that its bits do not depend on where it is scaled. A type without
/// infinities, such as float8_e4m3, saturates to its largest number and keeps NaN. min and max return NaN if
/// any operand is NaN, and order -0 before +0. Every computed NaN is written as the type's positive quiet
/// NaN, so that the bits do not depend on the CPU. Complex products follow the schoolbook formula, each step
/// rounded. Integers wrap. On bool, sum and max are `or`, prod and min are `and`. A single source that is
/// neither scaled nor divided is copied bit for bit. Pointers may have any alignment.
void reduce(const ReduceArgs& args);

/// The same, one element at a time, written for readability: the oracle that tests compare reduce() against.
void reduce_reference(const ReduceArgs& args);

/// What carries out reduce(args), also if pointers differ, or the count does and is not 0.
using ReduceKernel = void (*)(const ReduceArgs& args);
ReduceKernel kernel_of(const ReduceArgs& args);

}  // namespace rondo
