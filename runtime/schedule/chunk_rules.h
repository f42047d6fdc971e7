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

/// Whether the rank knows the length of that class.
bool knows_length(const Shape& shape, int rank, int length_class);

/// What an Output chunk must hold at the end: input[chunk] of the ranks [first, end), folded.
struct Wanted {
  int first = 0;
  int end = 0;
  int chunk = 0;
};
std::optional<Wanted> wanted(const Shape& shape, int rank, int output_chunk);

}  // namespace rondo
