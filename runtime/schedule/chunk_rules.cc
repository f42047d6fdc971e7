// SPDX-License-Identifier: Apache-2.0
#include "chunk_rules.h"

#include <algorithm>

namespace rondo {
namespace {

/// The class of a rank's block j by its length, in a _v form.
int block_class(const Shape& shape, int rank, bool input, int block) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (kind.sends_blocks() && kind.receives_blocks())
    return input ? rank * shape.nranks + block : block * shape.nranks + rank;
  if (kind.sends_blocks()) return input ? block : rank;
  return input ? rank : block;
}

/// Whether the rank knows the length of that class of blocks.
bool knows_length(const Shape& shape, int rank, int block_class) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (kind.has_root()) return rank == shape.root || block_class == rank;
  if (kind.sends_blocks() && kind.receives_blocks())
    return block_class / shape.nranks == rank || block_class % shape.nranks == rank;
  return true;
}

}  // namespace

int length_class(const Shape& shape, const Schedule& schedule, Buffer buffer, int chunk) {
  const Chunks& chunks = schedule.chunks;
  const int part = chunk % chunks.parts;
  if (!shape.varying) return part;
  bool input = buffer == Buffer::Input;
  if (buffer == Buffer::Scratch) {
    input = chunks.input >= chunks.output;
    chunk %= std::max(chunks.input, chunks.output);
  }
  const int block = block_class(shape, schedule.rank, input, chunk / chunks.parts);
  return knows_length(shape, schedule.rank, block) ? block * chunks.parts + part : -1;
}

std::optional<Wanted> wanted(const Shape& shape, int rank, int parts, int output_chunk) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (shape.kind == CollectiveKind::Barrier || !kind.has_result(rank, shape.root)) return std::nullopt;
  const int chunk = (kind.sends_blocks() ? rank * parts : 0) + output_chunk % parts;
  if (kind.reduces()) return Wanted{0, kind.operands_end(rank, shape.nranks), chunk};
  const int source = kind.receives_blocks() ? output_chunk / parts : shape.root;
  return Wanted{source, source + 1, chunk};
}

}  // namespace rondo
