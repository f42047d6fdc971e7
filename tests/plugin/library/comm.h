// SPDX-License-Identifier: Apache-2.0
// A comm of the tests' plugin: a TCP socket, the memory registered with it, and the requests on it. Bytes
// move only when a request is tested. Used under the network's lock.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "faults.h"
#include "network.h"

namespace rondo::test_net {

struct Comm;

struct Region {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

/// One message. Without a wait, its bytes move as soon as it is tested.
struct Request {
  Comm* comm = nullptr;
  std::byte* data = nullptr;
  size_t bytes = 0;             // that were requested
  std::vector<std::byte> wire;  // what is sent, or has been received: a length, and the bytes
  size_t moved = 0;             // of wire
  bool has_moved = false;
  uint32_t tests_before = 0;  // until it begins, and until it is reported once it is over
  uint32_t tests_after = 0;
};

struct Comm {
  Kind kind;
  int socket = -1;
  std::set<std::unique_ptr<Region>> regions = {};
  std::deque<std::unique_ptr<Request>> requests = {};  // not done, in order
  bool has_failed = false;

  Comm(Kind of_kind, int of_socket) : kind(of_kind), socket(of_socket) {}
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  /// Aborts unless these bytes are in the region, which is one of this comm.
  void check_region(const void* region, const std::byte* data, size_t bytes) const;
  /// Moves what can be moved, in order.
  int move(Faults& faults);
};

}  // namespace rondo::test_net
