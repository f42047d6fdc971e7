// SPDX-License-Identifier: Apache-2.0
#include "collective_call.h"

namespace rondo::test {
namespace {

rondo_status_t make_varying(const CollectiveCall& call, rondo_comm_t comm, rondo_stream_t stream) {
  const auto& [kind, from, to, count, type, op, root, varying, sends, sends_at, receives, receives_at] = call;
  switch (kind) {
    case Kind::AllGather: return rondo_all_gather_v(from, to, receives, receives_at, type, comm, stream);
    case Kind::ReduceScatter: return rondo_reduce_scatter_v(from, to, sends, type, op, comm, stream);
    case Kind::AllToAll:
      return rondo_all_to_all_v(from, sends, sends_at, to, receives, receives_at, type, comm, stream);
    case Kind::Gather:
      return rondo_gather_v(from, count, to, receives, receives_at, type, root, comm, stream);
    case Kind::Scatter: return rondo_scatter_v(from, sends, sends_at, to, count, type, root, comm, stream);
    default: return RONDO_INTERNAL_ERROR;
  }
}

}  // namespace

rondo_status_t make_call(const CollectiveCall& call, rondo_comm_t comm, rondo_stream_t stream) {
  const auto& [kind, from, to, count, type, op, root, varying, sends, sends_at, receives, receives_at] = call;
  if (varying) return make_varying(call, comm, stream);
  switch (kind) {
    case Kind::AllReduce: return rondo_all_reduce(from, to, count, type, op, comm, stream);
    case Kind::Broadcast: return rondo_broadcast(from, to, count, type, root, comm, stream);
    case Kind::Reduce: return rondo_reduce(from, to, count, type, op, root, comm, stream);
    case Kind::AllGather: return rondo_all_gather(from, to, count, type, comm, stream);
    case Kind::ReduceScatter: return rondo_reduce_scatter(from, to, count, type, op, comm, stream);
    case Kind::AllToAll: return rondo_all_to_all(from, to, count, type, comm, stream);
    case Kind::Gather: return rondo_gather(from, to, count, type, root, comm, stream);
    case Kind::Scatter: return rondo_scatter(from, to, count, type, root, comm, stream);
    case Kind::Barrier: return rondo_barrier(comm, stream);
    case Kind::Scan: return rondo_scan(from, to, count, type, op, comm, stream);
    case Kind::Exscan: return rondo_exscan(from, to, count, type, op, comm, stream);
    case Kind::PointToPoint: break;
  }
  return RONDO_INTERNAL_ERROR;
}

}  // namespace rondo::test
