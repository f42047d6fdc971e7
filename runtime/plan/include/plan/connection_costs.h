// SPDX-License-Identifier: Apache-2.0
// The cost of calls over connections, and the length of their messages. All ranks compute the same, from what
// all ranks know. Pure functions.
#pragma once

#include "plan/executor.h"
#include "plan/nic_shares.h"
#include "transports/link_cost.h"

namespace rondo {

/// The most slots that a connection has, unless it is told to have more.
inline constexpr int kMaxSlots = 16;

/// How a communicator's ranks are connected, as far as it matters to the choice of an algorithm; the same at
/// all ranks.
struct LinkModel {
  int nranks = 1;
  int hosts = 1;
  LinkCost cost;                      // between any two ranks
  double sharing = 1;                 // how much longer bytes take if all ranks of a host send to all others
  Levels levels;                      // see Shape
  std::vector<int> order;             // likewise
  std::vector<LinkCost> inner_costs;  // by level: between ranks of such a group, of different ones of the
                                      // next smaller level
  std::vector<int> host_sizes = {};   // how many ranks each has, in `order`; empty: groups were requested
  LinkCost within_hosts = {};         // between ranks of a host, whatever its size
  NicShares shares = {};              // of hosts that are groups

  /// With hosts as groups if their sizes differ, or if their ranks are consecutive but those of the levels
  /// are not, and operands are combined in rank order. Refers to this.
  Shape shape(const Call& call) const;
  bool has_equal_hosts() const;
  bool has_consecutive_hosts() const;
};

/// Prediction for a call whose messages fill slots of that size.
Prediction predict_over_connections(const Algorithm& algorithm, const Call& call, const Shape& shape,
                                    const LinkModel& links, size_t slot_bytes);
/// What its time consists of; empty if it is infinite.
std::vector<TimePart> parts_over_connections(const Algorithm& algorithm, const Call& call, const Shape& shape,
                                             const LinkModel& links, size_t slot_bytes);

/// The executor of calls on host memory over connections, without prepare().
Executor connections_row(const LinkModel& links, size_t slot_bytes);

/// How a call is divided into messages.
struct Chunking {
  size_t tile_units = 1;  // the longest chunk, in the call's unit_bytes()
  uint64_t hash = 0;      // for Signature: equal if the ranks chose the same
};

/// Uses the longest chunks that fit in slots of that size; Unsupported if none fits.
Result<Chunking> cut(const Algorithm& algorithm, const Call& call, const Shape& shape, size_t slot_bytes);

/// Mixes one more choice into a plan's hash.
uint64_t mix_plan(uint64_t plan, uint64_t value);
/// The hash of an algorithm.
uint64_t hash_of(const Algorithm& algorithm);

}  // namespace rondo
