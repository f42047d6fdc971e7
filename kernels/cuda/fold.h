// Fold on the device: combines sources into one or more results, by all lanes of a block or of a grid
// together. Device code, which also compiles for the host (see twin/device.h). What it computes is what
// kernels/reduce.h says.
#pragma once

#include "base/element.h"
#include "base/reduction.h"
#include "device.h"
#include "fold_list.h"

namespace rondo::device {

struct LineTask;

/// outs[k][i] = finish(sources[0][i] (op) sources[1][i] (op) ...), from left to right, for all k. Pointers
/// are aligned to their elements, complex ones to their parts. Results may be sources, but not overlap one
/// otherwise.
struct FoldTask {
  const void* const* sources = nullptr;
  int nsources = 1;
  void* const* outs = nullptr;
  int nouts = 1;
  uint64_t count = 0;  // elements
  ElementType type = ElementType::Float32;
  Reduction op = Reduction::Sum;    // Avg combines as Sum
  int divisor = 1;                  // finish: divide by this
  uint64_t scaled = 0;              // bit k: source k is multiplied by scalars[k * scalar_step] first
  const Scalar* scalars = nullptr;  // only where any is
  int scalar_step = 1;              // 0: all by the same
  const LineTask* lines = nullptr;  // where sources or results are lines
};

/// One of `count` lanes that carry out a task together. They need no barrier: each handles elements of its
/// own.
struct Lane {
  uint32_t index = 0;
  uint32_t count = 1;
};

/// False: the call was stopped before all lines had come.
RONDO_DEVICE_CALLED bool fold(const FoldTask& task, Lane lane);

/// All of them, one after the other; `pointers`: in the place of the list's.
RONDO_DEVICE_CALLED void fold_all(const FoldList& list, void* const* pointers, Lane lane);

// The parts of fold() by type, each in a file of its own.
RONDO_DEVICE_CALLED bool fold_short_integers(const FoldTask& task, Lane lane);  // 8 and 16 bits, bool
RONDO_DEVICE_CALLED bool fold_long_integers(const FoldTask& task, Lane lane);   // 32 and 64 bits
RONDO_DEVICE_CALLED bool fold_floats(const FoldTask& task, Lane lane);          // 32 and 64 bits, complex
RONDO_DEVICE_CALLED bool fold_small_floats(const FoldTask& task, Lane lane);    // 8 and 16 bits
RONDO_DEVICE_CALLED bool copy(const FoldTask& task, Lane lane);

}  // namespace rondo::device
