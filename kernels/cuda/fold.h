// SPDX-License-Identifier: Apache-2.0
// Fold on the device: all lanes of a block or a grid together combine sources into one or more results, by
// the rules of kernels/reduce.h. Device code, which also compiles for the host (see twin/device.h).
#pragma once

#include "base/element.h"
#include "base/reduction.h"
#include "device.h"
#include "fold_list.h"

namespace rondo::device {

struct LineTask;

/// outs[k][i] = finish(sources[0][i] (op) sources[1][i] (op) ...), from left to right, for all k. Pointers
/// must be aligned to the element, for complex types to its parts. A result may be a source, but must not
/// overlap one partially.
struct FoldTask {
  const void* const* sources = nullptr;
  int nsources = 1;
  void* const* outs = nullptr;
  int nouts = 1;
  uint64_t count = 0;  // elements
  ElementType type = ElementType::Float32;
  Reduction op = Reduction::Sum;  // Avg combines as Sum
  int divisor = 1;                // finish: divide by this; 1 unless op is Sum or Avg
  uint64_t scaled = 0;  // bit k: source k is multiplied by scalars[k * scalar_step] first; only of sums
  const Scalar* scalars = nullptr;  // if any source is scaled
  int scalar_step = 1;              // 0: one scalar for all
  const LineTask* lines = nullptr;  // if sources or results are lines
};

/// One of `count` lanes that share a task. They need no barrier: each handles separate elements.
struct LaneIndex {
  uint32_t index = 0;
  uint32_t count = 1;
};

/// False: the call was stopped before all lines had arrived.
RONDO_DEVICE_CALLED bool fold(const FoldTask& task, LaneIndex lane);

/// Runs the list's folds in order, with `pointers` in place of the list's own.
RONDO_DEVICE_CALLED void fold_all(const FoldList& list, void* const* pointers, LaneIndex lane);

// The parts of fold() by type, each in its own file.
RONDO_DEVICE_CALLED bool fold_short_integers(const FoldTask& task, LaneIndex lane);  // 8 and 16 bits, bool
RONDO_DEVICE_CALLED bool fold_long_integers(const FoldTask& task, LaneIndex lane);   // 32 and 64 bits
RONDO_DEVICE_CALLED bool fold_floats(const FoldTask& task, LaneIndex lane);        // 32 and 64 bits, complex
RONDO_DEVICE_CALLED bool fold_small_floats(const FoldTask& task, LaneIndex lane);  // 8 and 16 bits
RONDO_DEVICE_CALLED bool copy(const FoldTask& task, LaneIndex lane);

}  // namespace rondo::device
