// SPDX-License-Identifier: Apache-2.0
#include "call/call.h"

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

size_t blocks_end(const Blocks& blocks) {
  size_t end = 0;
  for (size_t i = 0; i < blocks.counts.size(); ++i)
    if (blocks.counts[i] != 0) end = std::max(end, blocks.offsets[i] + blocks.counts[i]);
  return end;
}

Extent extent(const Call& call, bool input, int nranks) {
  const CollectiveTraits& kind = traits(call.kind);
  const Blocks& blocks = input ? call.send_blocks : call.recv_blocks;
  size_t elements = call.count;
  if (input ? kind.sends_blocks() : kind.receives_blocks())
    elements = call.varying ? blocks_end(blocks) : call.count * static_cast<size_t>(nranks);
  return {static_cast<const std::byte*>(input ? call.send : call.recv), elements * call.type.bytes};
}

bool lie_alike(const Blocks& a, const Blocks& b) { return a.counts == b.counts && a.offsets == b.offsets; }

/// The byte offset of this rank's own block in the buffer that has one block per rank.
size_t own_offset(const Call& call, const Blocks& blocks, int rank) {
  const auto r = static_cast<size_t>(rank);
  return (call.varying ? blocks.offsets[r] : r * call.count) * call.type.bytes;
}

}  // namespace

Shape Call::shape(int nranks) const {
  return {.kind = kind,
          .nranks = nranks,
          .root = has_root(kind) ? root : 0,
          .varying = varying,
          .commutative = !reduces(kind) || op.commutative};
}

Signature Call::signature() const {
  Signature signature;
  signature.count = varying ? 0 : count;
  signature.type = type.id;
  signature.type_bytes = type.bytes;
  if (!type.built_in()) signature.type = static_cast<uint32_t>(kElementTypes);  // handles are process-local
  if (reduces(kind)) signature.op = op.function != nullptr ? kUserOp : op.scales_input ? kPremulSum : op.id;
  signature.root = has_root(kind) ? root : -1;
  signature.kind = kind;
  signature.varying = varying ? 1 : 0;
  signature.on_gpu = place.on_gpu ? 1 : 0;
  signature.purpose = purpose;
  return signature;
}

size_t Call::own_elements() const {
  if (!varying || kind != CollectiveKind::AllToAll) return count;
  return std::accumulate(send_blocks.counts.begin(), send_blocks.counts.end(), size_t{0});
}

std::optional<size_t> Call::vector_bytes(int nranks) const {
  const CollectiveTraits& row = traits(kind);
  if (!varying) return count * (row.has_blocks() ? static_cast<size_t>(nranks) : 1) * type.bytes;
  // Only the root knows all lengths; in an all_to_all_v no rank does.
  if (row.has_root() || row.sends == row.receives) return std::nullopt;
  const Blocks& known = row.receives_blocks() ? recv_blocks : send_blocks;
  return std::accumulate(known.counts.begin(), known.counts.end(), size_t{0}) * type.bytes;
}

namespace {

/// recvbuf - sendbuf of an in-place call; nullopt if the call cannot be in place.
std::optional<ptrdiff_t> in_place_distance(const Call& call, int rank) {
  const CollectiveTraits& kind = traits(call.kind);
  if (!kind.reads(rank, call.root) || !kind.writes(rank, call.root)) return std::nullopt;
  if (kind.sends == kind.receives) {
    if (!lie_alike(call.send_blocks, call.recv_blocks)) return std::nullopt;
    return 0;
  }
  if (kind.receives_blocks()) return -static_cast<ptrdiff_t>(own_offset(call, call.recv_blocks, rank));
  return static_cast<ptrdiff_t>(own_offset(call, call.send_blocks, rank));
}

}  // namespace

bool BufferRule::overlap(const void* send, const void* recv) const {
  if (read_bytes == 0 || written_bytes == 0 || is_in_place(send, recv)) return false;
  const auto* in = static_cast<const std::byte*>(send);
  const auto* out = static_cast<const std::byte*>(recv);
  return in < out + written_bytes && out < in + read_bytes;
}

bool is_in_place(const Call& call, int rank) {
  const BufferRule rule{.in_place = in_place_distance(call, rank)};
  return rule.is_in_place(call.send, call.recv);
}

BufferRule buffer_rule(const Call& call, int rank, int nranks) {
  return {used_input(call, rank, nranks).bytes, used_output(call, rank, nranks).bytes,
          in_place_distance(call, rank)};
}

Extent used_input(const Call& call, int rank, int nranks) {
  return traits(call.kind).reads(rank, call.root) ? extent(call, true, nranks) : Extent{};
}

Extent used_output(const Call& call, int rank, int nranks) {
  return traits(call.kind).writes(rank, call.root) ? extent(call, false, nranks) : Extent{};
}

Layout layout_of(const Call& call, const Chunks& chunks, size_t tile_units) {
  const size_t bytes = call.unit_bytes();
  const size_t scale = call.type.bytes / bytes;
  const CollectiveTraits& kind = traits(call.kind);
  const auto lay = [&](bool one_per_rank, const Blocks& blocks, int count) {
    // A rank that is not told the counts (gather_v away from the root) has no such blocks to move.
    if (one_per_rank && call.varying)
      return BufferLayout::varying_blocks(blocks.counts, blocks.offsets, bytes, count, tile_units,
                                          chunks.parts, scale);
    return BufferLayout::blocks(call.count * scale, bytes, count, tile_units, chunks.parts);
  };
  Layout layout{lay(kind.sends_blocks(), call.send_blocks, chunks.input),
                lay(kind.receives_blocks(), call.recv_blocks, chunks.output), tile_units * bytes, 1};
  layout.input.scale = layout.output.scale = scale;
  layout.tiles = std::max(layout.input.tiles(), layout.output.tiles());
  return layout;
}

}  // namespace rondo
