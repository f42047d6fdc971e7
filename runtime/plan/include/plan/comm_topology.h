// SPDX-License-Identifier: Apache-2.0
// CommTopology: how a communicator's ranks are connected, and what follows for its connections and for the
// choice of algorithms. All ranks compute the same, except for what concerns their own host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/status.h"
#include "bootstrap/peer_info.h"
#include "plan/pull_costs.h"
#include "schedule/levels.h"
#include "transports/transport.h"

namespace rondo {

struct LinkModel;
struct NicShares;
struct PeerInfo;
class Session;

class CommTopology {
 public:
  /// `ranks`: ranks of the session; `transport`: the one for all pairs, or null for each pair's best.
  CommTopology(const Session& session, const std::vector<int>& ranks, const Transport* transport);
  /// Of ranks that need not exist, one of them on the host `here`.
  CommTopology(std::vector<const PeerInfo*> ranks, uint64_t here, const Transport* transport);

  /// The cost of messages. `requested`: sizes of the groups of consecutive ranks that are close; null: detect
  /// them, wherever their ranks are. Levels that do not divide the ranks into equal groups are left out.
  LinkModel links(const std::optional<Levels>& requested) const;
  /// Fills in the parameters that were not requested, and this rank's turn.
  ConnectionParams settle(ConnectionParams asked) const;
  /// The most ranks per CPU on any host; at least 1.
  double oversubscription() const;
  /// Whether all ranks share memory.
  bool shares_memory() const;
  /// Of calls in memory that all ranks see; null: there are none. `requested_bytes`: the longest vector; -1:
  /// chosen for the ranks.
  std::optional<PullTerms> pull_terms(int64_t requested_bytes) const;
  /// An order in which close ranks are adjacent; empty: the order makes no difference.
  std::vector<int> locality_order() const;

  /// See slowest_costs().
  const CostTable& costs() const { return costs_; }

  /// On this host: whether its ranks outnumber the CPUs that they may use; the longest vector whose results
  /// stay in the caches.
  bool oversubscribed() const;
  size_t max_cached_bytes() const;

 private:
  using Members = std::vector<const PeerInfo*>;
  bool one_host() const { return hosts_.size() == 1; }
  const Transport& farthest() const { return one_host() ? within_host_ : between_hosts_; }
  size_t max_ranks_of_a_host() const;
  double sharing() const;  // see LinkModel
  NicShares nic_shares_of(const LinkModel& links) const;

  const Transport& within_host_;
  const Transport& between_hosts_;
  uint64_t here_;  // this rank's host
  uint32_t turn_ = 0;
  Members all_;
  CostTable costs_;
  std::map<uint64_t, Members> hosts_;
};

/// What messages between these cost, where hosts have measured it: of each figure that of the slowest host.
/// What is built in counts for hosts that have not.
CostTable slowest_costs(const std::vector<const PeerInfo*>& ranks);

// Which ranks are close to one another: the same list gives the same result at all ranks.

/// 0, 1, ... reordered so that the ranks of a host are adjacent and sorted by their first allowed CPU;
/// otherwise in the given order.
std::vector<int> order_by_locality(const std::vector<const PeerInfo*>& ranks);

/// How many ranks before the last of these are on its host and have the same local memory node, so that they
/// have the same choice of network ports.
uint32_t turn_of_last(const std::vector<const PeerInfo*>& ranks);

/// The rate that a transport's connections between any two of these have: that of the slowest; 0: unknown.
uint16_t slowest_rate_Gbps(const Transport& transport, const std::vector<const PeerInfo*>& ranks);

/// Groups of ranks that are closer to one another than to the rest: see Shape.
struct NearGroups {
  Levels levels;
  std::vector<int> order;       // host by host, node by node, cache by cache, whether or not there are levels
  std::vector<int> host_sizes;  // how many ranks each has, in that order
};
/// The ranks that share a last-level cache, a memory node, a host, as far as all such groups are equal; if
/// hosts are not, equal parts of them.
NearGroups near_groups(const std::vector<const PeerInfo*>& ranks);

/// Ranks on hosts of these sizes all send to all others: how often the network interface of a host carries
/// what one rank sends; at least 1.
double ranks_that_share(const std::vector<size_t>& ranks_of_hosts);

/// Whether none of the groups of `size` consecutive ranks is on several hosts. `order`: see Shape.
bool are_in_hosts(const std::vector<const PeerInfo*>& ranks, const std::vector<int>& order, int size);

/// RONDO_GROUP; null if it is not set.
Result<std::optional<Levels>> requested_levels();

}  // namespace rondo
