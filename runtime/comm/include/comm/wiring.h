// Wiring: how a communicator's ranks are joined, and what that means for its connections and for the choice
// of algorithms. All ranks find the same, but for what is said of this host.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "comm/links.h"
#include "comm/session.h"

namespace rondo {

/// Where ranks outnumber CPUs: until a rank has run that shares its CPU with others.
constexpr double kTurn_us = 0.7;

class Wiring {
 public:
  /// `ranks`: the session's; `transport`: of all pairs, null: the best for each.
  Wiring(const Session& session, const std::vector<int>& ranks, const Transport* transport);

  /// What messages cost. `group`: how many ranks at a time are near one another, as somebody says; 0: as they
  /// are. Where the ranks do not divide into such groups, none are.
  Links links(int64_t group) const;
  /// What was not asked for.
  ConnectionParams settle(ConnectionParams asked) const;
  /// Whether all ranks see the same memory.
  bool shares_memory() const;
  /// In which order they are near one another; empty: it makes no difference.
  std::vector<int> near_order() const;

  /// Of this host: whether its ranks outnumber the CPUs that they may use; the longest vector whose results
  /// stay in the caches.
  bool crowded() const;
  size_t most_cached_bytes() const;

 private:
  using Members = std::vector<const Member*>;
  bool one_host() const { return hosts_.size() == 1; }
  bool by_network() const;
  size_t most_ranks_of_a_host() const;
  double crowding() const;
  LinkCost within_a_host() const;

  const Transport* transport_;
  uint64_t here_;  // this rank's host
  Members all_;
  std::map<uint64_t, Members> hosts_;
};

}  // namespace rondo
