// The C API's collectives: each describes its call; one function checks and submits it.
#include "comm/gpu_calls.h"
#include "comm/group.h"
#include "comm/placement.h"
#include "comm/types.h"
#include "handles.h"

namespace {

using namespace rondo;
using api::collected;
using api::guarded_for_thread;
using Kind = CollectiveKind;

/// What all collectives have in common.
struct Common {
  const char* name;
  rondo_type_t type;
  rondo_comm_t comm;
  rondo_stream_t stream;
};

Status place_call(Communicator& communicator, Call& call) {
  return api::unless_lost(communicator,
                          place(call, communicator.rank(), communicator.size(), communicator.device(),
                                communicator.gpu_calls().share_buffers()));
}

/// `op`: of kinds that reduce.
Status submit_call(const Common& common, Call&& call, rondo_op_t op = RONDO_SUM) {
  RONDO_TRY_ASSIGN(Communicator * communicator, api::live(common.comm));
  RONDO_TRY_ASSIGN(Queue * queue, api::place_of(common.stream, call.place));
  RONDO_TRY_ASSIGN(call.type, find_type(common.type));
  if (reduces(call.kind)) {
    RONDO_TRY_ASSIGN(call.op, find_op(op, call.type));
  }
  RONDO_TRY(check(call, communicator->rank(), communicator->size()));
  if (communicator->gpu_calls().may_see_memory() || call.place.on_stream)
    RONDO_TRY(place_call(*communicator, call));
  return submit(*communicator, std::move(call), queue);
}

/// A call without lengths by rank. Most are like the one before, and need not be looked at again.
rondo_status_t collective(const char* name, const PlainCall& plain, rondo_comm_t comm,
                          rondo_stream_t stream) {
  return collected(name, comm, [&]() -> Status {
    if (stream == nullptr) {
      if (Communicator* communicator = api::live_on_host(comm))
        if (auto outcome = submit_again(*communicator, plain)) return *outcome;
    }
    return submit_call({name, plain.type, comm, stream}, plain.call(), plain.op);
  });
}

/// Copies the arrays of a _v form; counts that are NULL although they are needed are an error.
Result<Blocks> blocks_of(const char* name, const size_t* counts, const size_t* offsets, rondo_comm_t comm) {
  RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
  if (counts == nullptr) return api::null_argument(name);
  const auto n = static_cast<size_t>(communicator->size());
  Blocks blocks;
  blocks.counts.assign(counts, counts + n);
  if (offsets != nullptr) blocks.offsets.assign(offsets, offsets + n);
  return blocks;
}

/// Whether this rank is the root of a call on a live communicator.
Result<bool> at_root(rondo_comm_t comm, int root) {
  RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
  return communicator->rank() == root;
}

Result<size_t> own_count(const Blocks& blocks, rondo_comm_t comm) {
  RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
  return blocks.counts[static_cast<size_t>(communicator->rank())];
}

Status check_own_count(const Blocks& blocks, size_t count, const char* what, rondo_comm_t comm) {
  RONDO_TRY_ASSIGN(const size_t own, own_count(blocks, comm));
  if (own == count) return {};
  return error(Code::InvalidArgument, "{} is {}, but the counts give this rank {}", what, count, own);
}

}  // namespace

rondo_status_t rondo_all_reduce(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_all_reduce", {Kind::AllReduce, sendbuf, recvbuf, count, type, op}, comm, stream);
}

rondo_status_t rondo_broadcast(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type, int root,
                               rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_broadcast",
                    {Kind::Broadcast, sendbuf, recvbuf, count, type, PlainCall::kNoOp, root}, comm, stream);
}

rondo_status_t rondo_reduce(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                            rondo_op_t op, int root, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_reduce", {Kind::Reduce, sendbuf, recvbuf, count, type, op, root}, comm, stream);
}

rondo_status_t rondo_all_gather(const void* sendbuf, void* recvbuf, size_t sendcount, rondo_type_t type,
                                rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_all_gather", {Kind::AllGather, sendbuf, recvbuf, sendcount, type}, comm, stream);
}

rondo_status_t rondo_all_gather_v(const void* sendbuf, void* recvbuf, const size_t* recvcounts,
                                  const size_t* displs, rondo_type_t type, rondo_comm_t comm,
                                  rondo_stream_t stream) {
  return collected("rondo_all_gather_v", comm, [&]() -> Status {
    Call call = PlainCall{.kind = Kind::AllGather, .send = sendbuf, .recv = recvbuf}.call();
    call.varying = true;
    RONDO_TRY_ASSIGN(call.recv_blocks, blocks_of("recvcounts", recvcounts, displs, comm));
    RONDO_TRY_ASSIGN(call.count, own_count(call.recv_blocks, comm));
    return submit_call({"rondo_all_gather_v", type, comm, stream}, std::move(call));
  });
}

rondo_status_t rondo_reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, rondo_type_t type,
                                    rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_reduce_scatter", {Kind::ReduceScatter, sendbuf, recvbuf, recvcount, type, op},
                    comm, stream);
}

rondo_status_t rondo_reduce_scatter_v(const void* sendbuf, void* recvbuf, const size_t* recvcounts,
                                      rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                      rondo_stream_t stream) {
  return collected("rondo_reduce_scatter_v", comm, [&]() -> Status {
    Call call = PlainCall{.kind = Kind::ReduceScatter, .send = sendbuf, .recv = recvbuf}.call();
    call.varying = true;
    RONDO_TRY_ASSIGN(call.send_blocks, blocks_of("recvcounts", recvcounts, nullptr, comm));
    RONDO_TRY_ASSIGN(call.count, own_count(call.send_blocks, comm));
    return submit_call({"rondo_reduce_scatter_v", type, comm, stream}, std::move(call), op);
  });
}

rondo_status_t rondo_all_to_all(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_all_to_all", {Kind::AllToAll, sendbuf, recvbuf, count, type}, comm, stream);
}

rondo_status_t rondo_all_to_all_v(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls,
                                  void* recvbuf, const size_t* recvcounts, const size_t* rdispls,
                                  rondo_type_t type, rondo_comm_t comm, rondo_stream_t stream) {
  return collected("rondo_all_to_all_v", comm, [&]() -> Status {
    Call call = PlainCall{.kind = Kind::AllToAll, .send = sendbuf, .recv = recvbuf}.call();
    call.varying = true;
    RONDO_TRY_ASSIGN(call.send_blocks, blocks_of("sendcounts", sendcounts, sdispls, comm));
    RONDO_TRY_ASSIGN(call.recv_blocks, blocks_of("recvcounts", recvcounts, rdispls, comm));
    RONDO_TRY_ASSIGN(const size_t own, own_count(call.send_blocks, comm));
    RONDO_TRY(check_own_count(call.recv_blocks, own, "sendcounts[rank]", comm));
    return submit_call({"rondo_all_to_all_v", type, comm, stream}, std::move(call));
  });
}

rondo_status_t rondo_gather(const void* sendbuf, void* recvbuf, size_t sendcount, rondo_type_t type, int root,
                            rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_gather", {Kind::Gather, sendbuf, recvbuf, sendcount, type, PlainCall::kNoOp, root},
                    comm, stream);
}

rondo_status_t rondo_gather_v(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* recvcounts,
                              const size_t* displs, rondo_type_t type, int root, rondo_comm_t comm,
                              rondo_stream_t stream) {
  return collected("rondo_gather_v", comm, [&]() -> Status {
    Call call =
        PlainCall{.kind = Kind::Gather, .send = sendbuf, .recv = recvbuf, .count = sendcount, .root = root}
            .call();
    call.varying = true;
    RONDO_TRY_ASSIGN(const bool root_here, at_root(comm, root));
    if (root_here) {
      RONDO_TRY_ASSIGN(call.recv_blocks, blocks_of("recvcounts", recvcounts, displs, comm));
      RONDO_TRY(check_own_count(call.recv_blocks, sendcount, "sendcount", comm));
    }
    return submit_call({"rondo_gather_v", type, comm, stream}, std::move(call));
  });
}

rondo_status_t rondo_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, rondo_type_t type,
                             int root, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_scatter",
                    {Kind::Scatter, sendbuf, recvbuf, recvcount, type, PlainCall::kNoOp, root}, comm, stream);
}

rondo_status_t rondo_scatter_v(const void* sendbuf, const size_t* sendcounts, const size_t* displs,
                               void* recvbuf, size_t recvcount, rondo_type_t type, int root,
                               rondo_comm_t comm, rondo_stream_t stream) {
  return collected("rondo_scatter_v", comm, [&]() -> Status {
    Call call =
        PlainCall{.kind = Kind::Scatter, .send = sendbuf, .recv = recvbuf, .count = recvcount, .root = root}
            .call();
    call.varying = true;
    RONDO_TRY_ASSIGN(const bool root_here, at_root(comm, root));
    if (root_here) {
      RONDO_TRY_ASSIGN(call.send_blocks, blocks_of("sendcounts", sendcounts, displs, comm));
      RONDO_TRY(check_own_count(call.send_blocks, recvcount, "recvcount", comm));
    }
    return submit_call({"rondo_scatter_v", type, comm, stream}, std::move(call));
  });
}

rondo_status_t rondo_barrier(rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_barrier", {Kind::Barrier, nullptr, nullptr, 0, RONDO_UINT8}, comm, stream);
}

rondo_status_t rondo_scan(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type, rondo_op_t op,
                          rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_scan", {Kind::Scan, sendbuf, recvbuf, count, type, op}, comm, stream);
}

rondo_status_t rondo_exscan(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                            rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_exscan", {Kind::Exscan, sendbuf, recvbuf, count, type, op}, comm, stream);
}

rondo_status_t rondo_group_start(void) {
  return guarded_for_thread("rondo_group_start", [] {
    group_start();
    return Status();
  });
}

rondo_status_t rondo_group_cancel(void) {
  return guarded_for_thread("rondo_group_cancel", [] { return group_cancel(); });
}

rondo_status_t rondo_group_end(void) {
  return guarded_for_thread("rondo_group_end", [] { return group_end(); });
}
