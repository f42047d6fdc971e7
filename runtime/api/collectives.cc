// SPDX-License-Identifier: Apache-2.0
// The C API's collectives: each builds a CallRequest; one function submits it.
#include "call/check.h"
#include "comm/group.h"
#include "handles.h"

namespace {

using namespace rondo;
using api::collected;
using api::guarded_for_thread;
using Kind = CollectiveKind;

rondo_status_t collective(const char* name, CallRequest request, rondo_comm_t comm, rondo_stream_t stream) {
  return collected(name, comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
    Queue* queue = nullptr;
    if (stream != nullptr) {
      RONDO_TRY_ASSIGN(queue, api::place_of(stream, request.place));
    }
    return submit(*communicator, request, queue);
  });
}

/// A _v form.
rondo_status_t collective(const char* name, CallRequest request, const CallRequest::Varying& varying,
                          rondo_comm_t comm, rondo_stream_t stream) {
  request.varying = &varying;
  return collective(name, request, comm, stream);
}

}  // namespace

rondo_status_t rondo_all_reduce(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_all_reduce", {Kind::AllReduce, sendbuf, recvbuf, count, type, op}, comm, stream);
}

rondo_status_t rondo_broadcast(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type, int root,
                               rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_broadcast",
                    {Kind::Broadcast, sendbuf, recvbuf, count, type, CallRequest::kNoOp, root}, comm, stream);
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
  return collective("rondo_all_gather_v",
                    {.kind = Kind::AllGather, .send = sendbuf, .recv = recvbuf, .type = type},
                    {.send = {}, .recv = {recvcounts, displs}}, comm, stream);
}

rondo_status_t rondo_reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, rondo_type_t type,
                                    rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_reduce_scatter", {Kind::ReduceScatter, sendbuf, recvbuf, recvcount, type, op},
                    comm, stream);
}

rondo_status_t rondo_reduce_scatter_v(const void* sendbuf, void* recvbuf, const size_t* recvcounts,
                                      rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                      rondo_stream_t stream) {
  return collective("rondo_reduce_scatter_v",
                    {.kind = Kind::ReduceScatter, .send = sendbuf, .recv = recvbuf, .type = type, .op = op},
                    {.send = {recvcounts}, .recv = {}}, comm, stream);
}

rondo_status_t rondo_all_to_all(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_all_to_all", {Kind::AllToAll, sendbuf, recvbuf, count, type}, comm, stream);
}

rondo_status_t rondo_all_to_all_v(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls,
                                  void* recvbuf, const size_t* recvcounts, const size_t* rdispls,
                                  rondo_type_t type, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_all_to_all_v",
                    {.kind = Kind::AllToAll, .send = sendbuf, .recv = recvbuf, .type = type},
                    {.send = {sendcounts, sdispls}, .recv = {recvcounts, rdispls}}, comm, stream);
}

rondo_status_t rondo_gather(const void* sendbuf, void* recvbuf, size_t sendcount, rondo_type_t type, int root,
                            rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_gather",
                    {Kind::Gather, sendbuf, recvbuf, sendcount, type, CallRequest::kNoOp, root}, comm,
                    stream);
}

rondo_status_t rondo_gather_v(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* recvcounts,
                              const size_t* displs, rondo_type_t type, int root, rondo_comm_t comm,
                              rondo_stream_t stream) {
  return collective("rondo_gather_v",
                    {Kind::Gather, sendbuf, recvbuf, sendcount, type, CallRequest::kNoOp, root},
                    {.send = {}, .recv = {recvcounts, displs}}, comm, stream);
}

rondo_status_t rondo_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, rondo_type_t type,
                             int root, rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_scatter",
                    {Kind::Scatter, sendbuf, recvbuf, recvcount, type, CallRequest::kNoOp, root}, comm,
                    stream);
}

rondo_status_t rondo_scatter_v(const void* sendbuf, const size_t* sendcounts, const size_t* displs,
                               void* recvbuf, size_t recvcount, rondo_type_t type, int root,
                               rondo_comm_t comm, rondo_stream_t stream) {
  return collective("rondo_scatter_v",
                    {Kind::Scatter, sendbuf, recvbuf, recvcount, type, CallRequest::kNoOp, root},
                    {.send = {sendcounts, displs}, .recv = {}}, comm, stream);
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
