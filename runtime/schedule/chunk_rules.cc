// SPDX-License-Identifier: Apache-2.0
#include "chunk_rules.h"

#include <algorithm>

namespace rondo {
namespace {

/// The length class of input[j] or output[j] of a rank, if they are blocks of a _v form.
int block_class(const Shape& shape, int rank, bool input, int chunk) {
  switch (shape.kind) {
    case CollectiveKind::AllGather:
    case CollectiveKind::Gather: return input ? rank : chunk;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Scatter: return input ? chunk : rank;
    case CollectiveKind::AllToAll: return input ? rank * shape.nranks + chunk : chunk * shape.nranks + rank;
    default: return chunk;
  }
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
  if (shape.kind == CollectiveKind::Gather || shape.kind == CollectiveKind::Scatter)
    return rank == shape.root || length_class == rank;
  if (shape.kind == CollectiveKind::AllToAll)
    return length_class / shape.nranks == rank || length_class % shape.nranks == rank;
  return true;
}

std::optional<Wanted> wanted(const Shape& shape, int rank, int output_chunk) {
  if (!traits(shape.kind).has_result(rank, shape.root)) return std::nullopt;
  switch (shape.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Reduce: return Wanted{0, shape.nranks, output_chunk};
    case CollectiveKind::ReduceScatter: return Wanted{0, shape.nranks, rank};
    case CollectiveKind::Scan: return Wanted{0, rank + 1, output_chunk};
    case CollectiveKind::Exscan: return Wanted{0, rank, output_chunk};
    case CollectiveKind::Broadcast: return Wanted{shape.root, shape.root + 1, output_chunk};
    case CollectiveKind::Scatter: return Wanted{shape.root, shape.root + 1, rank};
    case CollectiveKind::AllGather:
    case CollectiveKind::Gather: return Wanted{output_chunk, output_chunk + 1, 0};
    case CollectiveKind::AllToAll: return Wanted{output_chunk, output_chunk + 1, rank};
    case CollectiveKind::Barrier:
    case CollectiveKind::PointToPoint: break;
  }
  return std::nullopt;
}

}  // namespace rondo
