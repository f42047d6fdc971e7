// SPDX-License-Identifier: Apache-2.0
// Queues as the process sees them.
#pragma once

#include <mutex>

#include "context.h"

namespace rondo::fabric {

struct UserCompletionQueue : ibv_cq {
  std::mutex poll_mutex;  // guards the taking of entries
  SharedMemory memory;
  CompletionRing* ring = nullptr;
  uint32_t delivered = 0;        // events that ibv_get_cq_event() returned; guarded by ibv_cq::mutex
  uint32_t async_delivered = 0;  // and ibv_get_async_event()

  /// Completions of this owner are never polled.
  void remove(uint64_t owner);
};

struct UserQueue {
  std::mutex mutex;  // guards posts
  Descriptor fd;     // of the memory, until the fabric has it
  SharedMemory memory;
  WorkRing* ring = nullptr;
  uint32_t max_requests = 0, max_sge = 0, max_inline = 0;
  std::atomic<uint32_t> done = 0;  // work requests whose completion was polled, and those before them

  bool open(uint32_t requests, uint32_t sges, uint32_t inline_bytes);
};

struct UserQueuePair : ibv_qp {
  UserQueue sends, receives;
  ibv_qp_init_attr init{};
  ibv_ece ece{};
  uint32_t async_delivered = 0;  // guarded by ibv_qp::mutex

  /// ibv_qp::state, as last set or asked for. Any thread may ask while others post.
  ibv_qp_state known_state() { return std::atomic_ref(state).load(std::memory_order_relaxed); }
  void know(ibv_qp_state now) { std::atomic_ref(state).store(now, std::memory_order_relaxed); }
};

}  // namespace rondo::fabric
