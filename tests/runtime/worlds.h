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

/// This rank in a child communicator of the same ranks, made with the settings in effect now.
struct Child {
  explicit Child(const Rank& parent, const std::string& algorithm = "", const char* transport = nullptr) {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    if (!algorithm.empty()) config.algorithm = algorithm.c_str();
    config.transport = transport;
    config.timeout_ms = 30'000;
    check(rondo_split(parent.comm, 0, parent.rank, comm.out(), &config), parent.comm);
    rank = {comm.get(), parent.rank, parent.size};
  }
  Owned comm;
  Rank rank;
};

/// All ranks of a communicator, driven by one thread.
struct LocalRanks {
  explicit LocalRanks(int nranks, const rondo_config_t& config = RONDO_CONFIG_INITIALIZER)
      : comms(static_cast<size_t>(nranks)) {
    check(rondo_init_all(comms.data(), nranks, &config));
  }
  ~LocalRanks() {
    for (const rondo_comm_t comm : comms) rondo_destroy(comm);
  }
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;
  Rank rank(int rank) const {
    return {comms[static_cast<size_t>(rank)], rank, static_cast<int>(comms.size())};
  }
  std::vector<rondo_comm_t> comms;
};

/// Created here, and destroyed at the end of the scope.
template <typename Handle, rondo_status_t (*create)(Handle*), rondo_status_t (*destroy)(Handle)>
class Created {
 public:
  Created() { check(create(&handle_)); }
  ~Created() { destroy(handle_); }
  Created(const Created&) = delete;
  Created& operator=(const Created&) = delete;
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using OwnedQueue = Created<rondo_stream_t, rondo_queue_create, rondo_queue_destroy>;
using OwnedEvent = Created<rondo_event_t, rondo_event_create, rondo_event_destroy>;

/// A sum whose operands each rank multiplies by a scalar of its own.
class PremulSum {
 public:
  PremulSum(const void* scalar, rondo_type_t type) { check(rondo_op_create_premul_sum(scalar, type, &op_)); }
  ~PremulSum() { rondo_op_destroy(op_); }
  PremulSum(const PremulSum&) = delete;
  PremulSum& operator=(const PremulSum&) = delete;
  rondo_op_t get() const { return op_; }

 private:
  rondo_op_t op_ = 0;
};

/// Length of the shortest equal groups that `nranks` ranks form (several groups of several ranks); 1 if there
/// are none.
inline int group_length(int nranks) {
  for (int length = 2; length < nranks; ++length)
    if (nranks % length == 0) return length;
  return 1;
}

/// For hierarchical algorithms: without this, ranks of one host form groups only if they are bound to several
/// caches. Two levels if possible.
inline Environment in_groups(int nranks) {
  const int inner = group_length(nranks), outer = group_length(nranks / inner);
  return {"RONDO_GROUP", std::to_string(inner) + (outer == 1 ? "" : "," + std::to_string(inner * outer))};
}

/// The algorithms of a collective that `nranks` ranks support while in_groups() is in effect.
std::vector<std::string> algorithms_of(std::string_view collective, int nranks);

/// "all_reduce=ring;broadcast=chain;...": of each collective, an algorithm that supports all its forms.
std::string an_algorithm_each(int nranks);

}  // namespace rondo::test
