// SPDX-License-Identifier: Apache-2.0
#include "plan/comm_topology.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "bootstrap/session.h"
#include "plan/connection_costs.h"
#include "topology/cache.h"

namespace rondo {
namespace {

/// `within` is the cost between ranks that share a last-level cache. Between ranks of different caches both
/// the latency and the transfer of a line are at least twice as long.
LinkCost between_caches(LinkCost within) {
  constexpr double kFarther = 2;
  within.latency_us *= kFarther;
  within.us_per_byte *= kFarther;
  return within;
}

/// A slot whose lines are still in the reader's second-level cache is expensive to write from another CPU, so
/// with few ranks a ring is longer than that cache. It is shorter with many ranks, as each may have a ring
/// from every other, and if ranks share CPUs, because a rank's turn fills the CPU's caches with whole rings.
constexpr size_t kMaxRingBytes = size_t{1} << 20;
constexpr size_t kRingBytesOfRank = size_t{8} << 20;
constexpr size_t kMaxSlots = 16;

int slots_for(size_t slot_bytes, size_t ranks_of_host) {
  const size_t ring_bytes =
      std::min(kMaxRingBytes, kRingBytesOfRank / std::max<size_t>(ranks_of_host - 1, 1));
  const auto least = static_cast<size_t>(ConnectionParams().slots);
  return static_cast<int>(std::clamp(ring_bytes / slot_bytes, least, kMaxSlots));
}

/// Within a host, a connection's sockets share the CPUs of its two ends, so a second one only adds work.
constexpr int kSocketsInHost = 1;

/// The number of these ranks, all of one host, per CPU that they may use. If a launcher has bound each rank
/// to one CPU, the CPUs are those that ranks are bound to.
double ranks_per_cpu(const std::vector<const PeerInfo*>& ranks) {
  int32_t most = 0;
  std::set<int32_t> bound_to;
  for (const PeerInfo* rank : ranks) {
    most = std::max(most, rank->allowed_cpus);
    bound_to.insert(rank->first_cpu);
  }
  const size_t cpus = most == 1 ? bound_to.size() : static_cast<size_t>(most);
  return static_cast<double>(ranks.size()) / static_cast<double>(std::max<size_t>(cpus, 1));
}

/// What is chosen between any two of these ranks that are on different hosts.
const Transport& automatic_between_hosts(const Session& session, const std::vector<int>& ranks) {
  Fabrics common{.bits = ~uint64_t{0}};
  for (const int rank : ranks) common.bits &= session.member(rank).endpoint.fabrics.bits;
  return *automatic_transport({1, 1, common}, {2, 2, common});
}

/// The length of the runs of equal places if all runs have the same length and differ in place; 1 otherwise,
/// or if all places are equal.
int equal_at_a_time(const std::vector<uint64_t>& places) {
  const auto last = std::adjacent_find(places.begin(), places.end(), std::not_equal_to<>());
  if (last == places.end()) return 1;
  const auto length = static_cast<size_t>(last - places.begin()) + 1;
  std::set<uint64_t> seen;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool begins = i % length == 0;
    if (begins ? !seen.insert(places[i]).second : places[i] != places[i - 1]) return 1;
  }
  return places.size() % length == 0 ? static_cast<int>(length) : 1;
}

}  // namespace

CommTopology::CommTopology(const Session& session, const std::vector<int>& ranks, const Transport* transport)
    : within_host_(transport ? *transport : *automatic_transport({1, 1}, {1, 2})),
      between_hosts_(transport ? *transport : automatic_between_hosts(session, ranks)),
      here_(session.member(session.rank()).endpoint.host) {
  std::vector<const PeerInfo*> up_to_here;  // whatever the communicator: all ranks of a host share its ports
  for (int rank = 0; rank <= session.rank(); ++rank) up_to_here.push_back(&session.member(rank));
  turn_ = turn_of_last(up_to_here);
  for (const int rank : ranks) {
    const PeerInfo& member = session.member(rank);
    all_.push_back(&member);
    hosts_[member.endpoint.host].push_back(&member);
  }
}

bool CommTopology::oversubscribed() const { return ranks_per_cpu(hosts_.at(here_)) > 1; }

size_t CommTopology::max_ranks_of_a_host() const {
  size_t most = 0;
  for (const auto& [host, ranks] : hosts_) most = std::max(most, ranks.size());
  return most;
}

/// Max ranks per CPU on any host; at least 1.
double CommTopology::oversubscription() const {
  double most = 1;
  for (const auto& [host, ranks] : hosts_) most = std::max(most, ranks_per_cpu(ranks));
  return most;
}

uint16_t slowest_rate_Gbps(const Transport& transport, const std::vector<const PeerInfo*>& ranks) {
  uint16_t slowest = std::numeric_limits<uint16_t>::max();
  for (const PeerInfo* rank : ranks)
    slowest = std::min(slowest, fabric_rate_Gbps(transport, rank->endpoint.fabrics));
  return slowest;
}

LinkModel CommTopology::links(int64_t group) const {
  const LinkLoad load{.ranks_per_cpu = oversubscription(), .ranks_of_host = max_ranks_of_a_host()};
  const LinkCost within = within_host_.cost(load);
  LinkModel links{.nranks = static_cast<int>(all_.size()), .cost = within, .intra_cost = within};
  const bool divides = group > 0 && group < links.nranks && links.nranks % group == 0;
  if (group == 0)
    links.group = near_at_a_time(all_);
  else if (divides)
    links.group = static_cast<int>(group);
  if (!one_host())
    links.cost = between_hosts_.cost(
        {.same_host = false, .rate_Gbps = static_cast<double>(slowest_rate_Gbps(between_hosts_, all_))});
  else if (links.group > 1 && within_host_.medium != Medium::Network)
    links.cost = between_caches(within);
  return links;
}

ConnectionParams CommTopology::settle(ConnectionParams asked) const {
  const ConnectionParams usual;
  if (asked.slot_bytes == 0) asked.slot_bytes = farthest().slot_bytes;
  if (asked.slots == 0)
    asked.slots = oversubscription() > 1 ? usual.slots : slots_for(asked.slot_bytes, max_ranks_of_a_host());
  if (asked.sockets == 0) asked.sockets = one_host() ? kSocketsInHost : usual.sockets;
  asked.turn = turn_;
  return asked;
}

bool CommTopology::shares_memory() const {
  return one_host() &&
         (within_host_.medium == Medium::HostMemory || within_host_.medium == Medium::ProcessMemory);
}

std::vector<int> CommTopology::locality_order() const {
  return farthest().medium == Medium::Network ? order_by_locality(all_) : std::vector<int>();
}

/// At that length all ranks' inputs and outputs take twice the size of the caches, so the beginning of a
/// result has been evicted by the time the end is written.
size_t CommTopology::max_cached_bytes() const {
  constexpr size_t kUnknownCacheBytes = size_t{32} << 20;
  static const size_t cache_bytes = last_level_cache_bytes();
  return (cache_bytes != 0 ? cache_bytes : kUnknownCacheBytes) / hosts_.at(here_).size();
}

uint32_t turn_of_last(const std::vector<const PeerInfo*>& ranks) {
  const PeerInfo& last = *ranks.back();
  return static_cast<uint32_t>(std::count_if(ranks.begin(), ranks.end() - 1, [&last](const PeerInfo* rank) {
    return rank->endpoint.host == last.endpoint.host && rank->memory_node == last.memory_node;
  }));
}

int near_at_a_time(const std::vector<const PeerInfo*>& ranks) {
  std::vector<uint64_t> hosts, caches;
  for (const PeerInfo* rank : ranks) {
    hosts.push_back(rank->endpoint.host);
    if (rank->cache >= 0) caches.push_back(static_cast<uint64_t>(rank->cache));
  }
  const bool one_host = std::count(hosts.begin(), hosts.end(), hosts[0]) == std::ssize(hosts);
  if (!one_host) return equal_at_a_time(hosts);
  return caches.size() == ranks.size() ? equal_at_a_time(caches) : 1;
}

std::vector<int> order_by_locality(const std::vector<const PeerInfo*>& ranks) {
  std::map<uint64_t, size_t> hosts;  // in the order of their first ranks
  std::vector<std::pair<size_t, int32_t>> places;
  for (const PeerInfo* rank : ranks)
    places.emplace_back(hosts.emplace(rank->endpoint.host, hosts.size()).first->second, rank->first_cpu);
  std::vector<int> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&places](int a, int b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace rondo
