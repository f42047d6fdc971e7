// SPDX-License-Identifier: Apache-2.0
// Collectives, messages and groups.
#include "comm.h"

#include "comm_task.h"
#include "group.h"

namespace rondo::nccl {
namespace {

/// A rank without a GPU has no streams; its calls are synchronous.
Outcome stream_of(const ncclComm& comm, cudaStream_t stream, rondo_stream_t& out) {
  out = nullptr;
  if (comm.device >= 0) {
    out = rondo_cuda_stream(stream);
    return {};
  }
  constexpr uintptr_t kMaxSpecial = 2;  // cudaStreamLegacy is 1, cudaStreamPerThread 2
  if (reinterpret_cast<uintptr_t>(stream) <= kMaxSpecial) return {};
  return wrong(
      ncclInvalidArgument,
      "stream is {}, but this rank has no GPU: only the NULL stream is possible, and buffers in host memory",
      static_cast<void*>(stream));
}

/// `call` receives the runtime's handle of the stream.
template <typename Call>
ncclResult_t issue(const char* name, ncclComm_t comm, cudaStream_t stream, Call&& call) {
  return with(name, comm, [&](ncclComm& known) -> Outcome {
    rondo_stream_t where = nullptr;
    RONDO_NCCL_TRY(stream_of(known, stream, where));
    RONDO_NCCL_TRY(GroupCalls::enter(known));
    return call(known, where);
  });
}

/// The same for calls with elements: `call` also receives their type.
template <typename Call>
ncclResult_t issue(const char* name, ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                   Call&& call) {
  return issue(name, comm, stream, [&](ncclComm& known, rondo_stream_t where) -> Outcome {
    rondo_type_t type = RONDO_INT8;
    RONDO_NCCL_TRY(type_of(datatype, type));
    return outcome_of(call(type, known.comm, where), known.comm);
  });
}

/// The same for reductions: `call` also receives the operation.
template <typename Call>
ncclResult_t issue(const char* name, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                   cudaStream_t stream, Call&& call) {
  return issue(name, comm, stream, [&](ncclComm& known, rondo_stream_t where) -> Outcome {
    rondo_type_t type = RONDO_INT8;
    rondo_op_t reduction = RONDO_SUM;
    RONDO_NCCL_TRY(type_of(datatype, type));
    RONDO_NCCL_TRY(op_of(known, op, reduction));
    return outcome_of(call(type, reduction, known.comm, where), known.comm);
  });
}

Outcome simulate_end(ncclSimInfo_t* info) {
  if (info != nullptr && info->magic != kSimMagic)
    return wrong(ncclInvalidArgument, "simInfo was not initialised with NCCL_SIM_INFO_INITIALIZER");
  constexpr float kNoEstimate = -1;
  if (info != nullptr && info->size >= sizeof *info) info->estimatedTime = kNoEstimate;
  return GroupCalls::cancel();
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclAllReduce", datatype, op, comm, stream,
               [&](auto type, auto reduction, auto on, auto where) {
                 return rondo_all_reduce(sendbuff, recvbuff, count, type, reduction, on, where);
               });
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclBroadcast", datatype, comm, stream, [&](auto type, auto on, auto where) {
    return rondo_broadcast(sendbuff, recvbuff, count, type, root, on, where);
  });
}

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return issue("ncclBcast", datatype, comm, stream, [&](auto type, auto on, auto where) {
    return rondo_broadcast(buff, buff, count, type, root, on, where);
  });
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclReduce", datatype, op, comm, stream, [&](auto type, auto reduction, auto on, auto where) {
    return rondo_reduce(sendbuff, recvbuff, count, type, reduction, root, on, where);
  });
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclAllGather", datatype, comm, stream, [&](auto type, auto on, auto where) {
    return rondo_all_gather(sendbuff, recvbuff, count, type, on, where);
  });
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclReduceScatter", datatype, op, comm, stream,
               [&](auto type, auto reduction, auto on, auto where) {
                 return rondo_reduce_scatter(sendbuff, recvbuff, count, type, reduction, on, where);
               });
}

ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclAlltoAll", datatype, comm, stream, [&](auto type, auto on, auto where) {
    return rondo_all_to_all(sendbuff, recvbuff, count, type, on, where);
  });
}

ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclGather", datatype, comm, stream, [&](auto type, auto on, auto where) {
    return rondo_gather(sendbuff, recvbuff, count, type, root, on, where);
  });
}

ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclScatter", datatype, comm, stream, [&](auto type, auto on, auto where) {
    return rondo_scatter(sendbuff, recvbuff, count, type, root, on, where);
  });
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue("ncclSend", datatype, comm, stream, [&](auto type, auto on, auto where) {
    return rondo_send(sendbuff, count, type, peer, 0, on, where);
  });
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue("ncclRecv", comm, stream, [&](ncclComm& known, rondo_stream_t where) -> Outcome {
    rondo_type_t type = RONDO_INT8;
    RONDO_NCCL_TRY(type_of(datatype, type));
    if (peer < 0)  // the runtime would take a message from any rank
      return wrong(ncclInvalidArgument, "peer is {}: it must be from 0 to {}", peer, known.size - 1);
    return outcome_of(rondo_recv(recvbuff, count, type, peer, 0, known.comm, where, nullptr), known.comm);
  });
}

ncclResult_t ncclGroupStart() {
  return guarded("ncclGroupStart", nullptr, [] {
    GroupCalls::start();
    return Outcome();
  });
}

ncclResult_t ncclGroupEnd() {
  return guarded("ncclGroupEnd", nullptr, [] { return GroupCalls::end(); });
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  return guarded("ncclGroupSimulateEnd", nullptr, [&] { return simulate_end(info); });
}

RONDO_NCCL_ALIAS(AllReduce);
RONDO_NCCL_ALIAS(Broadcast);
RONDO_NCCL_ALIAS(Bcast);
RONDO_NCCL_ALIAS(Reduce);
RONDO_NCCL_ALIAS(AllGather);
RONDO_NCCL_ALIAS(ReduceScatter);
RONDO_NCCL_ALIAS(AlltoAll);
RONDO_NCCL_ALIAS(Gather);
RONDO_NCCL_ALIAS(Scatter);
RONDO_NCCL_ALIAS(Send);
RONDO_NCCL_ALIAS(Recv);
RONDO_NCCL_ALIAS(GroupStart);
RONDO_NCCL_ALIAS(GroupEnd);
RONDO_NCCL_ALIAS(GroupSimulateEnd);
