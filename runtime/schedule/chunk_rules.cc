#include "chunk_rules.h"

#include <algorithm>

namespace rondo {
namespace {

/// input[j] of a rank, or output[j], where they are blocks of the _v forms.
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

bool has_blocks(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::Gather ||
         kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::Scatter ||
         kind == CollectiveKind::AllToAll;
}

}  // namespace

bool has_input(const Shape& shape, int rank) {
  const bool only_root = shape.kind == CollectiveKind::Broadcast || shape.kind == CollectiveKind::Scatter;
  return !only_root || rank == shape.root;
}

bool has_output(const Shape& shape, int rank) {
  if (shape.kind == CollectiveKind::Reduce || shape.kind == CollectiveKind::Gather) return rank == shape.root;
  return shape.kind != CollectiveKind::Exscan || rank > 0;
}

int length_class(const Shape& shape, const Schedule& schedule, Buffer buffer, int chunk) {
  if (has_blocks(shape.kind) && !shape.varying) return 0;
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
  if (!has_output(shape, rank)) return std::nullopt;
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
