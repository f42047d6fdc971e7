// SPDX-License-Identifier: Apache-2.0
// What processes have made on their devices. One thread, the fabric's, uses all of it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../settings.h"
#include "../socket.h"
#include "../wire.h"
#include "host.h"
#include "random.h"

namespace rondo::fabric {

struct Connection;

struct Region {
  uint32_t pd = 0;
  uint64_t addr = 0, length = 0;
  uint64_t iova = 0;  // the address that work requests use for addr
  uint32_t access = 0;
  uint32_t lkey = 0, rkey = 0;
  Descriptor dmabuf;      // or -1: addr is an offset into it
  bool is_stale = false;  // the process has forked: the device still has the pages of before

  bool covers(uint64_t at, uint64_t bytes) const {
    return at >= iova && bytes <= length && at - iova <= length - bytes;
  }
};

struct CompletionQueue {
  CompletionQueue(Connection& of, Draws with) : connection(of), draws(with) {}
  Connection& connection;
  uint64_t owner = 0;
  Descriptor channel;  // or -1
  SharedMemory memory;
  CompletionRing* ring = nullptr;
  uint32_t users = 0;  // queues of queue pairs
  Draws draws;
  std::deque<Completion> hidden;  // due, but the process does not see them yet
  uint64_t wake_ns = 0;           // they stay hidden until then
  bool is_broken = false;         // it has overrun
};

struct Piece {
  uint32_t offset, bytes;
};

enum class Injected { None, Rnr, Lost, Access, Flush, Overrun };

/// A work request on its way.
struct Message {
  const WorkRequest* request = nullptr;
  uint32_t done = 0;  // its number in the send queue, from 1 on
  uint32_t bytes = 0;
  std::vector<Piece> pieces;  // that have not landed
  bool is_accepted = false;   // by the responder
  Injected injected = Injected::None;

  bool is_read() const { return request->opcode == IBV_WR_RDMA_READ; }
  bool is_send() const { return request->opcode == IBV_WR_SEND || request->opcode == IBV_WR_SEND_WITH_IMM; }
  bool has_imm() const {
    return request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || request->opcode == IBV_WR_SEND_WITH_IMM;
  }
  bool takes_receive() const { return is_send() || has_imm(); }
};

struct QueuePair {
  QueuePair(Connection& of, CompletionQueue& send, CompletionQueue& receive, Draws with)
      : connection(of), send_cq(send), receive_cq(receive), draws(with) {}
  Connection& connection;
  CompletionQueue& send_cq;
  CompletionQueue& receive_cq;
  uint32_t number = 0;
  uint64_t owner = 0;
  uint32_t pd = 0;
  bool signals_all = false;
  SharedMemory send_memory, receive_memory;
  WorkRing* sends = nullptr;
  WorkRing* receives = nullptr;
  Draws draws;

  ibv_qp_state state = IBV_QPS_RESET;
  ibv_qp_attr attr{};
  Port* port = nullptr;  // from INIT on
  ibv_gid source{};      // own address, from RTR on
  uint32_t source_type = 0;

  uint32_t seen = 0;  // head of the send ring at the last turn
  uint32_t seen_receives = 0;
  uint32_t sent = 0;      // work requests taken from the send ring
  uint32_t received = 0;  // and from the receive ring
  std::deque<Message> active;
  std::deque<Message> unacknowledged;  // landed, which the sender does not know yet
  uint64_t acknowledge_ns = 0;         // it learns nothing before
  uint32_t next_psn = 0, expected_psn = 0;
  uint32_t retries_left = 0, rnr_left = 0;
  bool is_lost = false;  // no answer came to the last attempt; wake_ns is its time-out
  uint64_t wake_ns = 0;  // nothing is sent before
};

/// Bytes on their way to a dmabuf.
struct HeldWrite {
  Descriptor dmabuf;
  off_t position = 0;
  std::vector<std::byte> bytes;
};

/// An open device of a process. Forked children hold the socket too, and keep all of it alive.
struct Connection {
  Descriptor socket;
  Descriptor memory;  // /proc/PID/mem of the process; reads nothing once the process has ended
  Descriptor events;
  Settings settings;
  Host* host = nullptr;
  Device* device = nullptr;  // null before Call::Open
  uint64_t messages = 0;
  uint64_t opened_ns = 0;
  std::map<uint32_t, uint32_t> domains;  // and what uses each
  std::map<uint32_t, Region> regions;
  std::vector<HeldWrite> held;
  std::map<uint32_t, std::unique_ptr<CompletionQueue>> queues;
  std::map<uint32_t, std::unique_ptr<QueuePair>> pairs;
};

}  // namespace rondo::fabric
