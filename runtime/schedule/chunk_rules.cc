// SPDX-License-Identifier: Apache-2.0
#include "chunk_rules.h"

#include <algorithm>

namespace rondo {
namespace {

/// The length class of input[j] or output[j] of a rank, if they are blocks of a _v form.
int block_class(const Shape& shape, int rank, bool input, int chunk) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (kind.sends_blocks() && kind.receives_blocks())
    return input ? rank * shape.nranks + chunk : chunk * shape.nranks + rank;
  if (kind.sends_blocks()) return input ? chunk : rank;
  if (kind.receives_blocks()) return input ? rank : chunk;
  return chunk;
}

}  // namespace

int length_class(const Shape& shape, const Schedule& schedule, Buffer buffer, int chunk) {
  if (traits(shape.kind).has_blocks() && !shape.varying) return 0;
  bool input = buffer == Buffer::Input;
  if (buffer == Buffer::Scratch) {
    input = schedule.input_chunks >= schedule.output_chunks;
    chunk %= std::max(schedule.input_chunks, schedule.output_chunks);
  }
  const int found = block_class(shape, schedule.rank, input, chunk);
  return knows_length(shape, schedule.rank, found) ? found : -1;
}

bool knows_length(const Shape& shape, int rank, int length_class) {
  if (!shape.varying) return true;
  const CollectiveTraits& kind = traits(shape.kind);
  if (kind.has_root()) return rank == shape.root || length_class == rank;
  if (kind.sends_blocks() && kind.receives_blocks())
    return length_class / shape.nranks == rank || length_class % shape.nranks == rank;
  return true;
}

std::optional<Wanted> wanted(const Shape& shape, int rank, int output_chunk) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (shape.kind == CollectiveKind::Barrier || !kind.has_result(rank, shape.root)) return std::nullopt;
  const int chunk = kind.sends_blocks() ? rank : kind.receives_blocks() ? 0 : output_chunk;
  if (kind.reduces()) return Wanted{0, kind.operands_end(rank, shape.nranks), chunk};
  const int source = kind.receives_blocks() ? output_chunk : shape.root;
  return Wanted{source, source + 1, chunk};
}

}  // namespace rondo
