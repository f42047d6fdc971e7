// What a collective demands of chunks: who may read and write which, how long each is, and what it must hold
// in the end. Pure functions of a Shape: any thread.
#pragma once

#include <optional>

#include "schedule/schedule.h"

namespace rondo {

/// Whether the rank has an Input that holds something, and an Output that it may write.
bool has_input(const Shape& shape, int rank);
bool has_output(const Shape& shape, int rank);

/// Chunks of one class have one length in every call; those of different classes may differ. -1: the rank
/// does not know the length.
int length_class(const Shape& shape, const Schedule& schedule, Buffer buffer, int chunk);

/// Whether the rank knows the length of that class.
bool knows_length(const Shape& shape, int rank, int length_class);

/// What an Output chunk must hold in the end: input[chunk] of the ranks [first, end), folded.
struct Wanted {
  int first = 0;
  int end = 0;
  int chunk = 0;
};
std::optional<Wanted> wanted(const Shape& shape, int rank, int output_chunk);

}  // namespace rondo
