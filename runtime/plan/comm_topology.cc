// SPDX-License-Identifier: Apache-2.0
#include "plan/comm_topology.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/cost_table.h"
#include "base/error_kinds.h"
#include "base/settings.h"
#include "bootstrap/session.h"
#include "plan/connection_costs.h"
#include "topology/cache.h"

namespace rondo {
namespace {

/// `near` is the cost between ranks that share a last-level cache, or a memory node; the result that between
/// ranks of different ones.
LinkCost farther(LinkCost near) {
  near.latency_us *= value_of(Factor::FartherLink);
  near.us_per_byte *= value_of(Factor::FartherLink);
  return near;
}

/// A slot whose lines are still in the reader's second-level cache is expensive to write from another CPU, so
/// with few ranks a ring is longer than that cache. It is shorter with many ranks, as each may have a ring
/// from every other, and if ranks share CPUs, because a rank's turn fills the CPU's caches with whole rings.
constexpr size_t kMaxRingBytes = size_t{1} << 20;
constexpr size_t kRingBytesOfRank = size_t{8} << 20;

int slots_for(size_t slot_bytes, size_t ranks_of_host) {
  const size_t ring_bytes =
      std::min(kMaxRingBytes, kRingBytesOfRank / std::max<size_t>(ranks_of_host - 1, 1));
  const auto least = static_cast<size_t>(ConnectionParams().slots);
  return static_cast<int>(std::clamp(ring_bytes / slot_bytes, least, size_t{kMaxSlots}));
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
const Transport& automatic_between_hosts(const std::vector<const PeerInfo*>& ranks) {
  Fabrics common{.bits = ~uint64_t{0}};
  for (const PeerInfo* rank : ranks) common.bits &= rank->endpoint.fabrics.bits;
  return *automatic_transport({1, 1, common}, {2, 2, common});
}

std::vector<const PeerInfo*> members_of(const Session& session, const std::vector<int>& ranks) {
  std::vector<const PeerInfo*> members;
  for (const int rank : ranks) members.push_back(&session.member(rank));
  return members;
}

/// Every rank reads all others' posts, and rank 0 passes the memory to all of them. For hundreds of ranks
/// that still costs a fraction of what connections do; but every rank has 9 KiB of posts, which all ranks
/// map.
constexpr size_t kMaxPulling = 512;

/// Where a rank is, from the host inwards, each part as a number.
using Place = std::array<int, 3>;
constexpr size_t kHostDepth = 1;

/// The hosts' numbers are in the order of their first ranks.
std::vector<Place> places_of(const std::vector<const PeerInfo*>& ranks,
                             const std::function<Place(int host, const PeerInfo& rank)>& place) {
  std::map<uint64_t, int> hosts;
  std::vector<Place> places;
  for (const PeerInfo* rank : ranks) {
    const int host = hosts.emplace(rank->endpoint.host, static_cast<int>(hosts.size())).first->second;
    places.push_back(place(host, *rank));
  }
  return places;
}

/// 0, 1, ... sorted by place.
std::vector<int> order_by(const std::vector<Place>& places) {
  std::vector<int> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int rank) { return places[static_cast<size_t>(rank)]; });
  return order;
}

/// The number of ranks that agree in the first `depth` numbers of their places, if it is the same everywhere
/// and not all agree; else 1. A number of -1 is unknown. Unequal hosts are divided into the largest equal
/// groups that they allow: those of 8, 8 and 4 ranks into groups of 4.
int size_of_groups(const std::vector<Place>& places, size_t depth) {
  std::map<std::vector<int>, int> ranks;
  for (const Place& place : places) {
    if (place[depth - 1] < 0) return 1;
    ++ranks[std::vector<int>(place.begin(), place.begin() + static_cast<ptrdiff_t>(depth))];
  }
  if (ranks.size() == 1) return 1;
  int common = 0, largest = 0;
  for (const auto& [place, size] : ranks) {
    common = std::gcd(common, size);
    largest = std::max(largest, size);
  }
  return common == largest || depth == kHostDepth ? common : 1;
}

}  // namespace

CommTopology::CommTopology(const Session& session, const std::vector<int>& ranks, const Transport* transport)
    : CommTopology(members_of(session, ranks), session.member(session.rank()).endpoint.host, transport) {
  std::vector<const PeerInfo*> up_to_here;  // whatever the communicator: all ranks of a host share its ports
  for (int rank = 0; rank <= session.rank(); ++rank) up_to_here.push_back(&session.member(rank));
  turn_ = turn_of_last(up_to_here);
}

CommTopology::CommTopology(std::vector<const PeerInfo*> ranks, uint64_t here, const Transport* transport)
    : within_host_(transport ? *transport : *automatic_transport({1, 1}, {1, 2})),
      between_hosts_(transport ? *transport : automatic_between_hosts(ranks)),
      here_(here),
      all_(std::move(ranks)),
      costs_(slowest_costs(all_)) {
  for (const PeerInfo* rank : all_) hosts_[rank->endpoint.host].push_back(rank);
}

bool CommTopology::oversubscribed() const { return ranks_per_cpu(hosts_.at(here_)) > 1; }

size_t CommTopology::max_ranks_of_a_host() const {
  size_t most = 0;
  for (const auto& [host, ranks] : hosts_) most = std::max(most, ranks.size());
  return most;
}

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

LinkModel CommTopology::links(const std::optional<Levels>& requested) const {
  const LinkLoad load{
      .costs = costs_, .ranks_per_cpu = oversubscription(), .ranks_of_host = max_ranks_of_a_host()};
  const LinkCost within = within_host_.cost(load);
  LinkModel links{
      .nranks = static_cast<int>(all_.size()), .hosts = static_cast<int>(hosts_.size()), .cost = within};
  if (requested) {
    for (int level = 0; level < requested->count(); ++level)
      if (Levels(requested->size(level)).divide(links.nranks)) links.levels.add(requested->size(level));
  } else {
    NearGroups near = near_groups(all_);
    links.levels = near.levels;
    links.order = std::move(near.order);
    links.host_sizes = std::move(near.host_sizes);
  }
  const LinkCost between_hosts =
      between_hosts_.cost({.costs = costs_,
                           .same_host = false,
                           .rate_Gbps = static_cast<double>(slowest_rate_Gbps(between_hosts_, all_))});
  LinkCost inside = within;  // of the groups so far
  for (int level = 0; level < links.levels.count(); ++level) {
    if (level != 0 && within_host_.medium != Medium::Network) inside = farther(inside);
    const bool in_hosts = are_in_hosts(all_, links.order, links.levels.size(level));
    links.inner_costs.push_back(in_hosts ? inside : between_hosts);
  }
  links.within_hosts = links.levels.empty() ? within : links.inner_costs.back();
  if (!one_host()) {
    links.cost = between_hosts;
    links.sharing = sharing();
    links.shares = nic_shares_of(links);
  } else if (!links.levels.empty() && within_host_.medium != Medium::Network)
    links.cost = farther(inside);
  return links;
}

/// Over sockets. Other networks have rates of their own for the ranks of a host, which may have a NIC each.
double CommTopology::sharing() const {
  if (between_hosts_.medium != Medium::Network || between_hosts_.fabrics != nullptr) return 1;
  std::vector<size_t> sizes;
  for (const auto& [host, ranks] : hosts_) sizes.push_back(ranks.size());
  return ranks_that_share(sizes);
}

/// Equal ones unless hosts are the groups and all ranks say which ports are near.
NicShares CommTopology::nic_shares_of(const LinkModel& links) const {
  if (links.host_sizes.size() < 2 || between_hosts_.fabrics == nullptr) return {};
  std::vector<std::vector<RankPorts>> hosts;
  size_t next = 0;
  for (const int size : links.host_sizes) {
    std::vector<RankPorts> ports;
    for (int place = 0; place < size; ++place, ++next) {
      const size_t rank = links.order.empty() ? next : static_cast<size_t>(links.order[next]);
      const Fabrics& fabrics = all_[rank]->endpoint.fabrics;
      ports.push_back({fabric_ports(between_hosts_, fabrics),
                       static_cast<double>(fabric_rate_Gbps(between_hosts_, fabrics))});
    }
    if (hosts.empty() || hosts.back() != ports) hosts.push_back(std::move(ports));  // most are equal
  }
  const bool gpus_are_joined = std::ranges::all_of(
      all_, [](const PeerInfo* rank) { return rank->device.ordinal >= 0 && rank->device.host == 0; });
  return nic_shares(hosts, {links.cost.us_per_byte, links.within_hosts.us_per_byte}, gpus_are_joined);
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

std::optional<PullTerms> CommTopology::pull_terms(int64_t requested_bytes) const {
  if (!shares_memory() || all_.size() < 2 || all_.size() > kMaxPulling) return std::nullopt;
  PullTerms terms{.cost = pull_cost(costs_, static_cast<int>(all_.size()), oversubscription())};
  if (requested_bytes >= 0) terms.requested_bytes = static_cast<size_t>(requested_bytes);
  return terms;
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

CostTable slowest_costs(const std::vector<const PeerInfo*>& ranks) {
  static const HostCosts built_in = host_costs(CostTable());
  const auto costs_of = [](const PeerInfo* rank) -> const HostCosts& {
    return rank->costs ? *rank->costs : built_in;
  };
  HostCosts slowest = costs_of(ranks.front());
  for (const PeerInfo* rank : ranks) slowest = slower_of(slowest, costs_of(rank));
  return cost_table(slowest);
}

uint32_t turn_of_last(const std::vector<const PeerInfo*>& ranks) {
  const PeerInfo& last = *ranks.back();
  return static_cast<uint32_t>(std::count_if(ranks.begin(), ranks.end() - 1, [&last](const PeerInfo* rank) {
    return rank->endpoint.host == last.endpoint.host && rank->memory_node == last.memory_node;
  }));
}

NearGroups near_groups(const std::vector<const PeerInfo*>& ranks) {
  const bool one_node =
      std::ranges::all_of(ranks, [](const PeerInfo* rank) { return rank->memory_node < 0; });
  const auto places = places_of(ranks, [one_node](int host, const PeerInfo& rank) {
    return Place{host, one_node ? 0 : rank.memory_node, rank.cache};
  });
  NearGroups groups;
  for (size_t depth = Place().size(); depth > 0; --depth) {
    const int size = size_of_groups(places, depth);
    if (size % groups.levels.outermost() == 0) groups.levels.add(size);
  }
  groups.order = order_by(places);
  for (const int rank : groups.order) {
    const auto host = static_cast<size_t>(places[static_cast<size_t>(rank)].front());
    if (host == groups.host_sizes.size()) groups.host_sizes.push_back(0);
    ++groups.host_sizes[host];
  }
  if (std::ranges::is_sorted(groups.order)) groups.order.clear();  // as ranks are numbered
  return groups;
}

double ranks_that_share(const std::vector<size_t>& ranks_of_hosts) {
  const size_t all = std::accumulate(ranks_of_hosts.begin(), ranks_of_hosts.end(), size_t{0});
  double most = 1;
  for (const size_t here : ranks_of_hosts)
    if (here != all)
      most = std::max(most, static_cast<double>(here * (all - here)) / static_cast<double>(all - 1));
  return most;
}

bool are_in_hosts(const std::vector<const PeerInfo*>& ranks, const std::vector<int>& order, int size) {
  const auto host_at = [&](size_t position) {
    return ranks[order.empty() ? position : static_cast<size_t>(order[position])]->endpoint.host;
  };
  for (size_t i = 0; i < ranks.size(); ++i)
    if (host_at(i) != host_at(i - i % static_cast<size_t>(size))) return false;
  return true;
}

std::vector<int> order_by_locality(const std::vector<const PeerInfo*>& ranks) {
  return order_by(places_of(ranks, [](int host, const PeerInfo& rank) {
    return Place{host, rank.first_cpu};
  }));
}

Result<std::optional<Levels>> requested_levels() {
  const auto text = setting(Setting::Group);
  if (!text) return std::optional<Levels>();
  Levels levels;
  int outer = 1, given = 0;
  for (std::string_view left = *text;; ++given) {
    const std::string_view number = left.substr(0, left.find(','));
    int size = 0;
    const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), size);
    const bool fits = failure == std::errc() && end == number.data() + number.size() && size >= 1;
    if (!fits || size % outer != 0 || given == Levels::kMax)
      return error(ErrorKind::SettingInvalid,
                   "{} is '{}': it must be a whole number, or up to {} of them, each a multiple of the one "
                   "before, as in 4,16",
                   setting_info(Setting::Group).variable, *text, Levels::kMax);
    levels.add(size);
    outer = size;
    if (number.size() == left.size()) return std::optional(levels);
    left.remove_prefix(number.size() + 1);
  }
}

}  // namespace rondo
