// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <algorithm>

#include "types.h"

namespace rondo::perf {
namespace {

rondo_status_t issue_varying(const BenchCall& call, const void* send, void* recv) {
  const DataLayout& l = call.layout;
  const auto rank = static_cast<size_t>(call.shape.rank);
  const int root = call.shape.root;
  switch (call.shape.collective) {
    case Collective::AllGather:
      return rondo_all_gather_v(send, recv, l.recv_counts.data(), l.recv_displs.data(), call.type, call.comm,
                                call.stream);
    case Collective::ReduceScatter:
      return rondo_reduce_scatter_v(send, recv, l.send_counts.data(), call.type, call.op, call.comm,
                                    call.stream);
    case Collective::Gather:
      return rondo_gather_v(send, l.recv_counts[rank], recv, l.recv_counts.data(), l.recv_displs.data(),
                            call.type, root, call.comm, call.stream);
    case Collective::Scatter:
      return rondo_scatter_v(send, l.send_counts.data(), l.send_displs.data(), recv, l.send_counts[rank],
                             call.type, root, call.comm, call.stream);
    default:
      return rondo_all_to_all_v(send, l.send_counts.data(), l.send_displs.data(), recv, l.recv_counts.data(),
                                l.recv_displs.data(), call.type, call.comm, call.stream);
  }
}

// Sends to the right and receives from the left at the same time; one way, only even ranks send; in ping-pong
// one after the other, beginning with rank 0, so that one message is on its way.
rondo_status_t issue_send_recv(const BenchCall& call, const void* send, void* recv) {
  const int right = (call.shape.rank + 1) % call.shape.nranks;
  const int left = (call.shape.rank + call.shape.nranks - 1) % call.shape.nranks;
  const size_t count = call.shape.count;
  const auto do_send = [&] { return rondo_send(send, count, call.type, right, 0, call.comm, call.stream); };
  const auto do_recv = [&] {
    return rondo_recv(recv, count, call.type, left, 0, call.comm, call.stream, nullptr);
  };
  if (call.shape.one_way) {
    if (receives_one_way(call.shape.rank)) return do_recv();
    return sends_one_way(call.shape.rank, call.shape.nranks) ? do_send() : RONDO_OK;
  }
  if (call.ping_pong && call.shape.nranks > 1) {
    const bool begins = call.shape.rank == 0;
    const auto first = begins ? do_send() : do_recv();
    return first != RONDO_OK ? first : (begins ? do_recv() : do_send());
  }
  if (const auto status = rondo_group_start(); status != RONDO_OK) return status;
  const auto sent = do_send();
  const auto received = do_recv();
  const auto ended = rondo_group_end();
  if (sent != RONDO_OK) return sent;
  return received != RONDO_OK ? received : ended;
}

// All-gather by recursive doubling: in each round a rank exchanges all blocks that it has with the rank whose
// number differs in the next bit. A rank's own block is copied to its place at once, or, where calls are only
// submitted, by a message of the first round.
rondo_status_t issue_hypercube(const BenchCall& call, const void* send, void* recv) {
  const int rank = call.shape.rank, nranks = call.shape.nranks;
  const size_t count = call.shape.count, block_bytes = count * type_info(call.type).bytes;
  const auto place = [&](int block) {
    return static_cast<std::byte*>(recv) + static_cast<size_t>(block) * block_bytes;
  };
  bool is_placed = send == place(rank);
  if (!is_placed && call.stream == nullptr) {  // host memory
    std::copy_n(static_cast<const std::byte*>(send), block_bytes, place(rank));
    is_placed = true;
  }
  for (int blocks = 1; blocks < nranks || !is_placed; blocks *= 2) {
    if (const auto status = rondo_group_start(); status != RONDO_OK) return status;
    rondo_status_t failed = RONDO_OK;
    const auto exchange = [&](const void* from, void* to, int peer) {
      const size_t elements = count * static_cast<size_t>(blocks);
      if (failed == RONDO_OK) failed = rondo_send(from, elements, call.type, peer, 0, call.comm, call.stream);
      if (failed == RONDO_OK)
        failed = rondo_recv(to, elements, call.type, peer, 0, call.comm, call.stream, nullptr);
    };
    if (!is_placed) exchange(send, place(rank), rank);
    is_placed = true;
    const int first = rank & ~(blocks - 1);  // of the blocks that it has
    if (blocks < nranks) exchange(blocks == 1 ? send : place(first), place(first ^ blocks), rank ^ blocks);
    const auto ended = rondo_group_end();
    if (failed != RONDO_OK || ended != RONDO_OK) return failed != RONDO_OK ? failed : ended;
  }
  return RONDO_OK;
}

}  // namespace

rondo_status_t issue(const BenchCall& call, const void* send, void* recv) {
  const DataShape& shape = call.shape;
  const size_t count = shape.count;
  if (shape.varying && traits(shape.collective).has_blocks()) return issue_varying(call, send, recv);
  switch (shape.collective) {
    case Collective::AllReduce:
      return rondo_all_reduce(send, recv, count, call.type, call.op, call.comm, call.stream);
    case Collective::Broadcast:
      return rondo_broadcast(send, recv, count, call.type, shape.root, call.comm, call.stream);
    case Collective::Reduce:
      return rondo_reduce(send, recv, count, call.type, call.op, shape.root, call.comm, call.stream);
    case Collective::AllGather: return rondo_all_gather(send, recv, count, call.type, call.comm, call.stream);
    case Collective::ReduceScatter:
      return rondo_reduce_scatter(send, recv, count, call.type, call.op, call.comm, call.stream);
    case Collective::AllToAll: return rondo_all_to_all(send, recv, count, call.type, call.comm, call.stream);
    case Collective::Gather:
      return rondo_gather(send, recv, count, call.type, shape.root, call.comm, call.stream);
    case Collective::Scatter:
      return rondo_scatter(send, recv, count, call.type, shape.root, call.comm, call.stream);
    case Collective::Barrier: return rondo_barrier(call.comm, call.stream);
    case Collective::Scan: return rondo_scan(send, recv, count, call.type, call.op, call.comm, call.stream);
    case Collective::Exscan:
      return rondo_exscan(send, recv, count, call.type, call.op, call.comm, call.stream);
    case Collective::SendRecv: return issue_send_recv(call, send, recv);
    case Collective::Hypercube: return issue_hypercube(call, send, recv);
  }
  return RONDO_INTERNAL_ERROR;
}

}  // namespace rondo::perf
