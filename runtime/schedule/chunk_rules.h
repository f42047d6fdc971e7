// SPDX-License-Identifier: Apache-2.0
// A collective's rules for chunks: how long each is, and what it must hold at the end. Pure functions of a
// Shape: any thread.
#pragma once

#include <optional>

#include "schedule/schedule.h"

namespace rondo {

/// Chunks of one class have the same length in every call; different classes may differ in length. -1: the
/// rank does not know the length.
int length_class(const Shape& shape, const Schedule& schedule, Buffer buffer, int chunk);

/// What an Output chunk must hold at the end, if blocks have `parts` parts: input[chunk] of the ranks
/// [first, end), folded.
struct Wanted {
  int first = 0;
  int end = 0;
  int chunk = 0;
};
std::optional<Wanted> wanted(const Shape& shape, int rank, int parts, int output_chunk);

}  // namespace rondo
