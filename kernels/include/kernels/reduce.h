// Host reductions over contiguous elements, in the widest vectors of the CPU that runs (chosen at run time).
// Pure functions: any thread.
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
      sources;       // at least one; `out` may be any of them, but not overlap one otherwise
  size_t count = 0;  // elements
  ElementType type = ElementType::Float32;
  Reduction op = Reduction::Sum;  // Avg combines as Sum
  int divisor = 1;                // finish: divide by this (avg's number of ranks); integers towards zero
  int scaled_source = -1;         // this source is multiplied by *scalar first (pre-multiplied sum)
  const void* scalar = nullptr;   // one element of `type`
};

/// Floats of 16 and 8 bits are combined in float32 and rounded once, to nearest even. A scaled source is
/// rounded to its type before, so that it has the same bits wherever it is scaled. float8_e4m3 saturates to
/// +-448 and keeps NaN, float8_e5m2 overflows to infinity. min and max give NaN where any operand is NaN, and
/// order -0 before +0. Every NaN that is computed is written as the type's one positive quiet NaN, so that
/// the bits do not depend on the CPU. Complex products follow the schoolbook formula, each step rounded.
/// Integers wrap. On bool, sum and max are `or`, prod and min are `and`. A lone source that is neither scaled
/// nor divided is copied as it is. Pointers of any alignment.
void reduce(const ReduceArgs& args);

/// The same, one element at a time, written to be read: what tests compare reduce() with.
void reduce_reference(const ReduceArgs& args);

}  // namespace rondo
