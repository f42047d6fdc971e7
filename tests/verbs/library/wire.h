// SPDX-License-Identifier: Apache-2.0
// What passes between a process that uses the stand-in and the fabric, the process that plays all kernels,
// devices and cables: requests over a socket, one for each open device, and rings in shared memory.
//
// A process posts work requests into the rings of a queue pair and rings the doorbell if the fabric sleeps;
// the fabric writes completions into the ring of a completion queue. Neither needs a system call while both
// are awake.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rondo::fabric {

constexpr uint32_t kMaxSge = 16;
constexpr uint32_t kMaxInlineBytes = 512;
constexpr uint32_t kMaxWorkRequests = 4096;  // of a queue
constexpr uint32_t kMaxCompletions = 65'536;
constexpr uint32_t kMaxReads = 16;          // outstanding RDMA reads of a queue pair, at either end
constexpr uint32_t kMaxMessage = 1U << 31;  // bytes
constexpr size_t kMaxGids = 16;
constexpr size_t kMaxPkeys = 8;

struct Completion {
  uint64_t wr_id;
  uint64_t owner;  // address of the queue pair in its process; 0: the queue pair is gone
  uint32_t done;   // work requests of its queue up to and including this one, counted since RESET
  uint32_t is_receive;
  uint32_t is_solicited;
  uint32_t status, opcode, byte_len, imm, qp_num, src_qp, wc_flags;
};

enum Armed : uint32_t { kNotArmed, kSolicited, kAny };

struct CompletionRing {
  std::atomic<uint32_t> head;   // written by the fabric: a store after the entries, which poll_cq() acquires
  std::atomic<uint32_t> tail;   // taken by the process
  std::atomic<uint32_t> armed;  // set by the process; the fabric clears it with the event that it sends
  uint32_t capacity;

  static size_t bytes(uint32_t capacity) { return sizeof(CompletionRing) + capacity * sizeof(Completion); }
  Completion& at(uint32_t index) { return reinterpret_cast<Completion*>(this + 1)[index % capacity]; }
};

struct WorkRequest {
  uint64_t wr_id;
  uint64_t remote_addr;
  uint32_t rkey, imm, opcode, flags;
  uint32_t sges;
  uint32_t inline_bytes;  // which follow this struct, if flags has IBV_SEND_INLINE
  ibv_sge sge[kMaxSge];

  const std::byte* inline_data() const { return reinterpret_cast<const std::byte*>(this + 1); }
  std::byte* inline_data() { return reinterpret_cast<std::byte*>(this + 1); }
};

struct WorkRing {
  std::atomic<uint32_t> head;  // work requests posted since RESET; a release, which the fabric acquires
  uint32_t capacity;           // a power of two
  uint32_t slot_bytes;
  std::atomic<uint32_t> is_flushing;  // set by the fabric: what is posted is flushed, so receives ring too

  static uint32_t slot(uint32_t inline_bytes) {
    return static_cast<uint32_t>((sizeof(WorkRequest) + inline_bytes + 7) / 8 * 8);
  }
  static size_t bytes(uint32_t capacity, uint32_t slot) { return sizeof(WorkRing) + size_t{capacity} * slot; }
  WorkRequest& at(uint32_t index) {
    std::byte* const slots = reinterpret_cast<std::byte*>(this + 1);
    return *reinterpret_cast<WorkRequest*>(slots + size_t{index & (capacity - 1)} * slot_bytes);
  }
};

/// What all processes see of the fabric's loop.
struct Doorbell {
  std::atomic<uint32_t> sleeps;  // 1: a post must write to the event descriptor
};

enum class Call : uint32_t {
  Open,  // text: the variables; fds: memory of the process, asynchronous events; answer: doorbell, its event
  QueryPort,
  AllocDomain,
  FreeDomain,
  Register,  // fd: that of a dmabuf, if any
  Deregister,
  CreateCompletionQueue,  // fds: ring, channel (if any)
  DestroyCompletionQueue,
  CreateQueuePair,  // fds: send ring, receive ring
  ModifyQueuePair,
  QueryQueuePair,
  DestroyQueuePair,
  Forked,   // by a process whose memory is not protected from copy-on-write
  Command,  // text: a fault (README.md)
};

struct Request {
  Call call;
  uint32_t handle;  // of the object
  uint32_t device;  // Open
  uint32_t port;
  uint32_t pd, send_cq, recv_cq;
  uint32_t access;
  uint64_t owner;  // address of the new object in its process
  uint64_t addr, length, iova;
  ibv_qp_cap cap;
  int32_t signal_all;
  int32_t attr_mask;
  ibv_qp_attr attr;
  char text[4096];
};

struct GidRow {
  union ibv_gid gid;
  uint32_t type;  // ibv_gid_type
  uint32_t interface;
};

struct PortView {
  ibv_port_state state;
  ibv_mtu mtu;
  uint16_t lid;
  uint8_t link_layer;
  uint32_t gbps;
  uint32_t pkey_count;
  uint16_t pkeys[kMaxPkeys];  // in the order of this machine
  GidRow gids[kMaxGids];
};

struct Reply {
  int32_t error;  // errno
  uint32_t handle;
  uint32_t lkey, rkey;
  ibv_qp_attr attr;
  PortView port;
};

/// An asynchronous event, as it passes through its pipe. The owner is that of a queue pair or completion
/// queue.
struct Event {
  uint64_t owner;
  uint32_t type;
  uint32_t port;
};

}  // namespace rondo::fabric
