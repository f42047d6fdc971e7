// SPDX-License-Identifier: Apache-2.0
#include "call/check.h"

#include <numeric>

#include "base/error_kinds.h"
#include "call/user_types.h"

namespace rondo {
namespace {

/// The C API's name for the counts of the send buffer. In reduce_scatter they say what each rank receives.
const char* send_counts_name(CollectiveKind kind) { return reduces(kind) ? "recvcounts" : "sendcounts"; }

Result<Blocks> copy_blocks(const CallRequest::BlockArrays& arrays, const char* name, int nranks) {
  if (arrays.counts == nullptr) return error(ErrorKind::NullArgument, "{} is NULL", name);
  const auto n = static_cast<size_t>(nranks);
  Blocks blocks;
  blocks.counts.assign(arrays.counts, arrays.counts + n);
  if (arrays.offsets != nullptr) {
    blocks.offsets.assign(arrays.offsets, arrays.offsets + n);
  } else {
    blocks.offsets.resize(n);
    std::exclusive_scan(blocks.counts.begin(), blocks.counts.end(), blocks.offsets.begin(), size_t{0});
  }
  return blocks;
}

Status check_own_count(size_t own, size_t count, const char* what) {
  if (own == count) return {};
  return error(Code::InvalidArgument, "{} is {}, but the counts give this rank {}", what, count, own);
}

/// A root has the counts of all ranks and every other rank only its own; without a root, each rank has all.
Status fill_in_blocks(Call& call, const CallRequest::Varying& varying, int rank, int nranks) {
  const CollectiveTraits& kind = traits(call.kind);
  call.varying = true;
  if (kind.has_root() && rank != call.root) return {};
  const auto own = static_cast<size_t>(rank);
  const bool sends = kind.sends_blocks();
  if (sends) {
    RONDO_TRY_ASSIGN(call.send_blocks, copy_blocks(varying.send, send_counts_name(call.kind), nranks));
  }
  if (kind.receives_blocks()) {
    RONDO_TRY_ASSIGN(call.recv_blocks, copy_blocks(varying.recv, "recvcounts", nranks));
  }
  const size_t length = (sends ? call.send_blocks : call.recv_blocks).counts[own];
  if (kind.has_root()) return check_own_count(length, call.count, sends ? "recvcount" : "sendcount");
  call.count = length;
  if (!sends || call.recv_blocks.counts.empty()) return {};
  return check_own_count(call.recv_blocks.counts[own], call.count, "sendcounts[rank]");
}

Status check_op(const Call& call) {
  if (!reduces(call.kind)) return {};
  const auto kind = collective_name(call.kind);
  if (call.op.function != nullptr) return {};
  if (!call.type.built_in())
    return error(ErrorKind::OpNotOfType, "{}: op must be a user-defined one for a user-defined type", kind);
  if (!reduction_takes(call.op.built_in, call.type.element()))
    return error(ErrorKind::OpNotOfType, "{}: op {} is not defined for type {}", kind,
                 reduction_name(call.op.built_in), element_info(call.type.element()).name);
  if (!traits(call.kind).finishes() && call.op.built_in == Reduction::Avg)
    return error(ErrorKind::OpNotOfType,
                 "{}: op avg is not allowed; each rank would divide by a different number", kind);
  return {};
}

Status check_extent(const Call& call, const char* name, const Extent& extent) {
  if (extent.bytes != 0 && extent.begin == nullptr)
    return error(ErrorKind::NullArgument, "{}: {} is NULL, but there are {} bytes to move",
                 collective_name(call.kind), name, extent.bytes);
  return {};
}

Status check_counts(const Call& call, const Blocks& blocks, const char* name) {
  const size_t most = SIZE_MAX / 2 / call.type.bytes;
  for (size_t rank = 0; rank < blocks.counts.size(); ++rank) {
    const size_t count = blocks.counts[rank];
    const size_t offset = blocks.offsets[rank];
    if (count > most || offset > most - count)
      return error(ErrorKind::CountTooLarge, "{}: {}[{}] is {} at offset {}, more than memory can hold",
                   collective_name(call.kind), name, rank, count, offset);
  }
  return {};
}

Status check_meaning(const Call& call, int nranks) {
  const auto kind = collective_name(call.kind);
  if (has_root(call.kind) && (call.root < 0 || call.root >= nranks))
    return error(ErrorKind::RankOutOfRange, "{}: root is {}; it must be from 0 to {}", kind, call.root,
                 nranks - 1);
  RONDO_TRY(check_op(call));
  if (call.count <= SIZE_MAX / 2 / call.type.bytes / static_cast<size_t>(nranks)) return {};
  return error(ErrorKind::CountTooLarge, "{}: count is {}, more than memory can hold", kind, call.count);
}

Status check_buffers(const Call& call, int rank, int nranks) {
  RONDO_TRY(check_extent(call, "sendbuf", used_input(call, rank, nranks)));
  RONDO_TRY(check_extent(call, "recvbuf", used_output(call, rank, nranks)));
  if (!buffer_rule(call, rank, nranks).overlap(call.send, call.recv)) return {};
  return error(ErrorKind::BuffersOverlap,
               "{}: sendbuf and recvbuf overlap, other than in the way that an in-place call allows",
               collective_name(call.kind));
}

/// Copies the arguments and looks up type and operation; checks nothing else.
Result<Call> translated(const CallRequest& request) {
  Call call;
  call.kind = request.kind;
  call.send = request.send;
  call.recv = request.recv;
  call.count = request.count;
  call.root = request.root;
  call.place = request.place;
  RONDO_TRY_ASSIGN(call.type, find_type(request.type));
  if (reduces(call.kind)) {
    RONDO_TRY_ASSIGN(call.op, find_op(request.op, call.type));
  }
  return call;
}

}  // namespace

Result<Call> checked(const CallRequest& request, int rank, int nranks) {
  RONDO_TRY_ASSIGN(Call call, translated(request));
  if (request.varying != nullptr) {
    RONDO_TRY(fill_in_blocks(call, *request.varying, rank, nranks));
    RONDO_TRY(check_counts(call, call.send_blocks, send_counts_name(call.kind)));
    RONDO_TRY(check_counts(call, call.recv_blocks, "recvcounts"));
  }
  RONDO_TRY(check_meaning(call, nranks));
  RONDO_TRY(check_buffers(call, rank, nranks));
  return call;
}

Result<Call> checked_without_buffers(const CallRequest& request, int nranks) {
  RONDO_TRY_ASSIGN(Call call, translated(request));
  RONDO_TRY(check_meaning(call, nranks));
  return call;
}

}  // namespace rondo
