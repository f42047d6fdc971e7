#include "comm/call.h"

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

/// How a buffer is made up of blocks: which of the two sides has one block a rank.
enum class Side { One, All };

struct Sides {
  Side input;
  Side output;
};

Sides sides_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllGather:
    case CollectiveKind::Gather: return {Side::One, Side::All};
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Scatter: return {Side::All, Side::One};
    case CollectiveKind::AllToAll: return {Side::All, Side::All};
    default: return {Side::One, Side::One};
  }
}

size_t blocks_end(const Blocks& blocks) {
  size_t end = 0;
  for (size_t i = 0; i < blocks.counts.size(); ++i)
    if (blocks.counts[i] != 0) end = std::max(end, blocks.offsets[i] + blocks.counts[i]);
  return end;
}

bool reads_input(const Call& call, int rank) {
  return !((call.kind == CollectiveKind::Broadcast || call.kind == CollectiveKind::Scatter) &&
           rank != call.root) &&
         call.kind != CollectiveKind::Barrier;
}

bool writes_output(const Call& call, int rank) {
  return !((call.kind == CollectiveKind::Reduce || call.kind == CollectiveKind::Gather) &&
           rank != call.root) &&
         call.kind != CollectiveKind::Barrier;
}

Extent extent(const Call& call, bool input, int nranks) {
  const Side side = input ? sides_of(call.kind).input : sides_of(call.kind).output;
  const Blocks& blocks = input ? call.send_blocks : call.recv_blocks;
  size_t elements = call.count;
  if (side == Side::All)
    elements = call.varying ? blocks_end(blocks) : call.count * static_cast<size_t>(nranks);
  return {static_cast<const std::byte*>(input ? call.send : call.recv), elements * call.type.bytes};
}

bool lie_alike(const Blocks& a, const Blocks& b) { return a.counts == b.counts && a.offsets == b.offsets; }

/// The byte offset of this rank's own block in the side that has all of them.
size_t own_offset(const Call& call, const Blocks& blocks, int rank) {
  const auto r = static_cast<size_t>(rank);
  return (call.varying ? blocks.offsets[r] : r * call.count) * call.type.bytes;
}

Status check_op(const Call& call) {
  if (!reduces(call.kind)) return {};
  const auto kind = collective_name(call.kind);
  const bool scan = call.kind == CollectiveKind::Scan || call.kind == CollectiveKind::Exscan;
  if (call.op.function != nullptr) return {};
  if (!call.type.built_in())
    return error(Code::InvalidArgument, "{}: op must be a user-defined one for a user-defined type", kind);
  if (!reduction_takes(call.op.built_in, call.type.element()))
    return error(Code::InvalidArgument, "{}: op {} is not defined for type {}", kind,
                 reduction_name(call.op.built_in), element_info(call.type.element()).name);
  if (scan && call.op.built_in == Reduction::Avg)
    return error(Code::InvalidArgument,
                 "{}: op avg is not allowed; every rank would divide by another number", kind);
  return {};
}

Status check_extent(const Call& call, const char* name, const Extent& extent) {
  if (extent.bytes != 0 && extent.begin == nullptr)
    return error(Code::InvalidArgument, "{}: {} is NULL, but {} bytes are there to move",
                 collective_name(call.kind), name, extent.bytes);
  return {};
}

Status check_counts(Call& call, Blocks& blocks, const char* name, int nranks) {
  if (blocks.offsets.empty()) {
    blocks.offsets.resize(blocks.counts.size());
    std::exclusive_scan(blocks.counts.begin(), blocks.counts.end(), blocks.offsets.begin(), size_t{0});
  }
  const size_t most = SIZE_MAX / 2 / call.type.bytes;
  for (int r = 0; r < nranks; ++r) {
    const size_t count = blocks.counts[static_cast<size_t>(r)];
    const size_t offset = blocks.offsets[static_cast<size_t>(r)];
    if (count > most || offset > most - count)
      return error(Code::InvalidArgument, "{}: {}[{}] is {} at offset {}, more than memory can hold",
                   collective_name(call.kind), name, r, count, offset);
  }
  return {};
}

}  // namespace

Shape Call::shape(int nranks, int group) const {
  return {.kind = kind,
          .nranks = nranks,
          .root = has_root(kind) ? root : 0,
          .varying = varying,
          .commutative = !reduces(kind) || op.commutative,
          .group = group};
}

Signature Call::signature() const {
  Signature signature;
  signature.count = varying ? 0 : count;
  signature.type = type.id;
  signature.type_bytes = type.bytes;
  if (!type.built_in()) signature.type = static_cast<uint32_t>(kElementTypes);  // handles are a process's own
  if (reduces(kind)) signature.op = op.function != nullptr ? kUserOp : op.scales_input ? kPremulSum : op.id;
  signature.root = has_root(kind) ? root : -1;
  signature.kind = kind;
  signature.varying = varying ? 1 : 0;
  signature.on_gpu = place.on_gpu ? 1 : 0;
  return signature;
}

std::optional<size_t> Call::vector_bytes(int nranks) const {
  const Sides sides = sides_of(kind);
  const bool blocks = sides.input == Side::All || sides.output == Side::All;
  if (!varying) return count * (blocks ? static_cast<size_t>(nranks) : 1) * type.bytes;
  const Blocks& known = kind == CollectiveKind::AllGather ? recv_blocks : send_blocks;
  if (kind != CollectiveKind::AllGather && kind != CollectiveKind::ReduceScatter) return std::nullopt;
  return std::accumulate(known.counts.begin(), known.counts.end(), size_t{0}) * type.bytes;
}

namespace {

/// Where recvbuf lies in an in-place call, from sendbuf on.
std::optional<ptrdiff_t> in_place_distance(const Call& call, int rank) {
  if (!reads_input(call, rank) || !writes_output(call, rank)) return std::nullopt;
  const Sides sides = sides_of(call.kind);
  if (call.kind == CollectiveKind::AllToAll && !lie_alike(call.send_blocks, call.recv_blocks))
    return std::nullopt;
  if (sides.input == sides.output) return 0;
  if (sides.output == Side::All) return -static_cast<ptrdiff_t>(own_offset(call, call.recv_blocks, rank));
  return static_cast<ptrdiff_t>(own_offset(call, call.send_blocks, rank));
}

bool lie_so(const void* send, const void* recv, const std::optional<ptrdiff_t>& distance) {
  return distance && send != nullptr && recv != nullptr &&
         static_cast<const std::byte*>(recv) == static_cast<const std::byte*>(send) + *distance;
}

}  // namespace

bool is_in_place(const Call& call, int rank) {
  return lie_so(call.send, call.recv, in_place_distance(call, rank));
}

bool BufferRule::overlap(const void* send, const void* recv) const {
  if (read_bytes == 0 || written_bytes == 0 || lie_so(send, recv, in_place)) return false;
  const auto* in = static_cast<const std::byte*>(send);
  const auto* out = static_cast<const std::byte*>(recv);
  return in < out + written_bytes && out < in + read_bytes;
}

BufferRule buffer_rule(const Call& call, int rank, int nranks) {
  return {used_input(call, rank, nranks).bytes, used_output(call, rank, nranks).bytes,
          in_place_distance(call, rank)};
}

Call PlainCall::call() const {
  Call call;
  call.kind = kind;
  call.send = send;
  call.recv = recv;
  call.count = count;
  call.root = root;
  return call;
}

Extent used_input(const Call& call, int rank, int nranks) {
  return reads_input(call, rank) ? extent(call, true, nranks) : Extent{};
}

Extent used_output(const Call& call, int rank, int nranks) {
  return writes_output(call, rank) ? extent(call, false, nranks) : Extent{};
}

Status check_meaning(const Call& call, int nranks) {
  const auto kind = collective_name(call.kind);
  if (has_root(call.kind) && (call.root < 0 || call.root >= nranks))
    return error(Code::InvalidArgument, "{}: root is {}; it must be from 0 to {}", kind, call.root,
                 nranks - 1);
  RONDO_TRY(check_op(call));
  if (call.count <= SIZE_MAX / 2 / call.type.bytes / static_cast<size_t>(nranks)) return {};
  return error(Code::InvalidArgument, "{}: count is {}, more than memory can hold", kind, call.count);
}

Status check(Call& call, int rank, int nranks) {
  if (call.varying) {
    if (!call.send_blocks.counts.empty())
      RONDO_TRY(check_counts(call, call.send_blocks, "sendcounts", nranks));
    if (!call.recv_blocks.counts.empty())
      RONDO_TRY(check_counts(call, call.recv_blocks, "recvcounts", nranks));
  }
  RONDO_TRY(check_meaning(call, nranks));
  const Extent in = used_input(call, rank, nranks);
  const Extent out = used_output(call, rank, nranks);
  RONDO_TRY(check_extent(call, "sendbuf", in));
  RONDO_TRY(check_extent(call, "recvbuf", out));
  if (!buffer_rule(call, rank, nranks).overlap(call.send, call.recv)) return {};
  return error(Code::InvalidArgument,
               "{}: sendbuf and recvbuf overlap, other than in the way that an in-place call allows",
               collective_name(call.kind));
}

Layout layout_of(const Call& call, const Chunks& chunks, size_t tile_units) {
  const size_t bytes = call.unit_bytes();
  const size_t scale = call.type.bytes / bytes;
  const Sides sides = sides_of(call.kind);
  const auto lay = [&](Side side, const Blocks& blocks, int count) {
    if (sides.input == Side::One && sides.output == Side::One)
      return BufferLayout::parts(call.count * scale, bytes, count, tile_units);
    // A rank that is not told the lengths (gather_v away from the root) has none to move.
    if (side == Side::All && call.varying)
      return BufferLayout::varying(blocks.counts, blocks.offsets, bytes, count, tile_units, scale);
    return BufferLayout::blocks(call.count * scale, bytes, count, tile_units);
  };
  Layout layout{lay(sides.input, call.send_blocks, chunks.input),
                lay(sides.output, call.recv_blocks, chunks.output), tile_units * bytes, 1};
  layout.input.scale = layout.output.scale = scale;
  layout.tiles = std::max(layout.input.tiles(), layout.output.tiles());
  return layout;
}

}  // namespace rondo
