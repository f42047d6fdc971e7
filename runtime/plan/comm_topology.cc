// SPDX-License-Identifier: Apache-2.0
#include "plan/comm_topology.h"

#include <algorithm>
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

/// 0, 1, ... so that equal places are adjacent, in the order of their first ranks.
std::vector<int> order_by_place(const std::vector<uint64_t>& places) {
  std::map<uint64_t, size_t> numbers;
  for (const uint64_t place : places) numbers.emplace(place, numbers.size());
  std::vector<int> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](int rank) { return numbers.at(places[static_cast<size_t>(rank)]); });
  return order;
}

/// The number of ranks in each place, if it is the same and there are several places; else 1.
int equal_in_each(const std::vector<uint64_t>& places) {
  std::map<uint64_t, int> ranks;
  for (const uint64_t place : places) ++ranks[place];
  const int size = ranks.begin()->second;
  const bool equal = std::ranges::all_of(ranks, [size](const auto& one) { return one.second == size; });
  return equal && ranks.size() > 1 ? size : 1;
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
  if (group == 0) {
    NearGroups near = near_groups(all_);
    links.group = near.size;
    links.order = std::move(near.order);
  } else if (divides) {
    links.group = static_cast<int>(group);
  }
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

NearGroups near_groups(const std::vector<const PeerInfo*>& ranks) {
  std::vector<uint64_t> hosts, caches;
  for (const PeerInfo* rank : ranks) {
    hosts.push_back(rank->endpoint.host);
    if (rank->cache >= 0) caches.push_back(static_cast<uint64_t>(rank->cache));
  }
  const bool one_host = std::ranges::count(hosts, hosts[0]) == std::ssize(hosts);
  if (one_host && caches.size() != ranks.size()) return {};
  const std::vector<uint64_t>& places = one_host ? caches : hosts;
  NearGroups groups{.size = equal_in_each(places), .order = {}};
  if (groups.size > 1) groups.order = order_by_place(places);
  if (std::ranges::is_sorted(groups.order)) groups.order.clear();  // as ranks are numbered
  return groups;
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
