// SPDX-License-Identifier: Apache-2.0
// Ends of connections, over the public verbs API alone: the same probes run on the stand-in and on a real
// device, which RONDO_TEST_VERBS_DEVICE names (the first one). On the stand-in each runs in a process of its
// own, with variables.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

#include "in_process.h"
#include "process.h"

namespace rondo::verbs_test {

using test::require;

/// An expression of a system call's kind: 0, or an error that is named in the exception.
void succeed(int error, const std::string& what);

struct Options {
  uint32_t send_requests = 16, receive_requests = 16, elements = 4, inline_bytes = 64;
  int completions = 64;
  bool one_queue = false;  // of completions, for sends and receives
  size_t bytes = 1 << 20;
  int region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  uint8_t timeout = 14, retry = 6, rnr_retry = 7, rnr_timer = 1, reads = 4;
  ibv_mtu mtu = IBV_MTU_1024;
  uint32_t psn = 0x123;
  uint32_t device = 0;
  int gid = -1;  // index; -1: the last one, or none on InfiniBand
  uint8_t port = 1;
  uint16_t partition = 0;  // index
};

/// What the peer must know.
struct Address {
  uint32_t number = 0, psn = 0, rkey = 0;
  uint64_t addr = 0;
  uint16_t lid = 0;
  ibv_gid gid{};
};

struct End {
  explicit End(const Options& given = {});
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  Address address() const;
  /// INIT, in which receives may be posted; then RTR and RTS.
  void init();
  int ready_to_receive(const Address& peer);
  int ready_to_send();
  void connect(const Address& peer);
  void to_error();
  ibv_qp_state state();

  /// Of `bytes` at `offset` of the own memory, to the same place of the peer's.
  ibv_send_wr request(ibv_wr_opcode opcode, const Address& peer, size_t offset, uint32_t bytes,
                      uint64_t id = 1);
  void post(ibv_send_wr wr);
  void receive(uint64_t id = 1, size_t offset = 0, uint32_t bytes = 0);

  Options options;
  ibv_context* context = nullptr;
  ibv_port_attr port{};
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* receive_cq = nullptr;
  ibv_qp* pair = nullptr;
  ibv_mr* region = nullptr;
  std::vector<unsigned char> memory;
  ibv_sge element{};
};

void connect(End& one, End& other);

/// The stand-in's seeds that a probe is worth; a device needs no more than one run.
std::vector<const char*> seeds(std::vector<const char*> of_standin);

/// The next completion, which must come within the time.
ibv_wc next(ibv_cq* queue, double limit_s = 10);
/// The next completion must have this status.
ibv_wc next_is(ibv_cq* queue, ibv_wc_status status, double limit_s = 10);
/// Likewise, one of these.
ibv_wc next_is(ibv_cq* queue, const std::vector<ibv_wc_status>& statuses);
bool stays_empty(ibv_cq* queue, int ms);
/// The next asynchronous event, which must come within the time, acknowledged.
ibv_event_type next_event(End& end, double limit_s = 10);
bool is_readable(int fd, int limit_ms);

}  // namespace rondo::verbs_test
