// SPDX-License-Identifier: Apache-2.0
// ConnectionExecutor: carries out a communicator's calls on host memory, Step by Step over its connections:
// any algorithm, any length. Used by the thread whose turn it is on the communicator.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "exec/connections.h"
#include "plan/connection_costs.h"
#include "plan/executor.h"

namespace rondo {

class ConnectionExecutor {
 public:
  struct ConnectionTerms {
    LinkModel links;
    size_t slot_bytes = 0;
    std::vector<int> locality_order;  // of ranks connected by a network; empty: order makes no difference
    size_t max_cached_bytes = 0;      // the longest vector whose results stay in the caches
  };
  /// A Schedule for connections, and what carries it out: one for all lengths, types and operations.
  struct BoundSchedule;

  /// The connections must outlive it.
  ConnectionExecutor(ConnectionTable& connections, int rank, ConnectionTerms terms);
  ~ConnectionExecutor();

  /// The row and all plans must not outlive it.
  Executor row();

  const ConnectionTerms& terms() const { return terms_; }
  int rank() const { return rank_; }
  int nranks() const { return terms_.links.nranks; }
  /// Makes missing connections and does not wait for them: `awaited` of the result says whether it is bound.
  Result<BoundSchedule*> bound(const Algorithm& algorithm, const Shape& shape);
  /// The current call's scratch memory; kept for the next call.
  std::byte* scratch(size_t bytes);

 private:
  using Key = std::tuple<const Algorithm*, int, bool, bool>;  // root, varying, commutative
  Schedule schedule(const Algorithm& algorithm, const Shape& shape) const;

  ConnectionTable& connections_;
  int rank_;
  ConnectionTerms terms_;
  std::map<Key, std::unique_ptr<BoundSchedule>> bound_;
  std::unique_ptr<std::byte[]> scratch_;
  size_t scratch_bytes_ = 0;
};

}  // namespace rondo
