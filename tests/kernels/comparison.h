// SPDX-License-Identifier: Apache-2.0
// One random call, run by a reduction and by reduce_reference(); also checks the memory around the result.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/reduce.h"
#include "samples.h"

namespace rondo {

/// The call for which a comparison draws buffers.
struct ComparedCall {
  ElementType type = ElementType::Float32;
  Reduction op = Reduction::Sum;
  size_t count = 0;
  int sources = 2;
  int aliased = -1;  // the source that is also `out`
  int divisor = 1;
  int scaled = -1;       // the source that is multiplied by a random scalar
  size_t alignment = 1;  // of all pointers, in bytes, at most 64
};

/// Draws sources at random offsets from alignment, runs the call by both, and compares bit by bit the
/// results, the bytes around `out`, and the sources. Returns a description of the first fault.
using Reducer = std::function<void(const ReduceArgs&)>;
std::optional<std::string> compare(const ComparedCall& call, std::mt19937_64& random,
                                   const Reducer& reducer = reduce);

}  // namespace rondo
