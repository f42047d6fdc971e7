// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the C API: the ways in which ranks reach one another, and small helpers.
#pragma once

#include <rondo/rondo.h>

#include <array>
#include <string>
#include <vector>

#include "scoped_environment.h"
#include "world.h"

namespace rondo::test {

struct Way {
  const char* transport;
  bool threads;  // ranks are threads, as the transport joins ranks of one process alone
};
extern const std::vector<Way> kWays;  // one for each transport

inline WorldOptions world_of(const Way& way, int nranks) {
  WorldOptions options;
  options.nranks = nranks;
  options.transport = way.transport;
  options.threads = way.threads;
  return options;
}

/// Destroys the communicator at the end of the scope.
class Owned {
 public:
  explicit Owned(rondo_comm_t comm = nullptr) : comm_(comm) {}
  ~Owned() { rondo_destroy(comm_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  rondo_comm_t get() const { return comm_; }
  rondo_comm_t* out() { return &comm_; }

 private:
  rondo_comm_t comm_;
};

class OwnedQueue {
 public:
  OwnedQueue() { check(rondo_queue_create(&queue_)); }
  ~OwnedQueue() { rondo_queue_destroy(queue_); }
  OwnedQueue(const OwnedQueue&) = delete;
  OwnedQueue& operator=(const OwnedQueue&) = delete;
  rondo_stream_t get() const { return queue_; }

 private:
  rondo_stream_t queue_ = nullptr;
};

/// Length of the shortest equal groups that `nranks` ranks form (several groups of several ranks); 1 if there
/// are none.
inline int group_length(int nranks) {
  for (int length = 2; length < nranks; ++length)
    if (nranks % length == 0) return length;
  return 1;
}

/// For hierarchical algorithms: without this, ranks of one host form groups only if they are bound to several
/// caches.
inline Environment in_groups(int nranks) { return {"RONDO_GROUP", std::to_string(group_length(nranks))}; }

/// The algorithms of a collective that `nranks` ranks support while in_groups() is in effect.
std::vector<std::string> algorithms_of(std::string_view collective, int nranks);

}  // namespace rondo::test
