#include "comm/wiring.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "comm/nearness.h"
#include "topology/cache.h"

namespace rondo {
namespace {

constexpr LinkCost kNetwork{15, 5e-4, 4};
/// In shared memory all is copying, by the ranks' own CPUs, half of it at either end.
constexpr LinkCost shared_memory(double ranks_per_cpu, size_t ranks) {
  const double turns_us = ranks_per_cpu > 1 ? kTurn_us * static_cast<double>(ranks) : 0.15;
  return {turns_us, 4.5e-5, 0.05, 3.5e-5, 0.5, ranks_per_cpu};
}
/// Over TCP inside a host all is work of the ranks' own CPUs, and takes longer where they share them. Who
/// only sends or only receives has half of it, and a sender does not wait for receivers: the kernel keeps
/// what they do not take yet. What does not come from the caches takes more than twice as long. Measured with
/// 2, 4 and 8 ranks on two CPUs with 1 MiB of second level cache each.
constexpr LinkCost loopback(double ranks_per_cpu) {
  return {.latency_us = 1,
          .us_per_byte = 1.6e-4,
          .us_per_message = 6,
          .us_per_folded_byte = 0.8e-4,
          .one_way = 0.5,
          .ranks_per_cpu = ranks_per_cpu,
          .us_per_cold_byte = 2e-4,
          .cached_bytes = 2 << 20,
          .runs_ahead = true};
}

/// Where the above is between ranks that use one last-level cache: between those of two it takes at least
/// twice as long until a line is there, and to move one.
LinkCost between_caches(LinkCost within) {
  constexpr double kFarther = 2;
  within.latency_us *= kFarther;
  within.us_per_byte *= kFarther;
  return within;
}

/// Over a network messages pay off that are long beside the packets of a loopback (64 KiB).
constexpr size_t kNetworkSlotBytes = size_t{256} * 1024;
/// A slot whose lines the reader still has in its second-level cache is expensive to write from another CPU,
/// so a ring is longer than that cache where there are few ranks. With many it is shorter, as each may have a
/// ring from every other; and where ranks share CPUs, whose caches a rank's turn fills with whole rings.
constexpr size_t kMostRingBytes = size_t{1} << 20;
constexpr size_t kRingBytesOfRank = size_t{8} << 20;
constexpr size_t kMostSlots = 16;

int slots_for(size_t slot_bytes, size_t ranks_of_host) {
  const size_t ring_bytes =
      std::min(kMostRingBytes, kRingBytesOfRank / std::max<size_t>(ranks_of_host - 1, 1));
  const auto least = static_cast<size_t>(ConnectionParams().slots);
  return static_cast<int>(std::clamp(ring_bytes / slot_bytes, least, kMostSlots));
}

/// Inside a host the sockets of a connection share the CPUs of its two ends, and two are only more work.
constexpr int kSocketsInHost = 1;

/// How many of these ranks of one host there are for each CPU that they may use. Where a launcher has bound
/// each to one, what counts are those that have the same.
double ranks_per_cpu(const std::vector<const Member*>& ranks) {
  int32_t most = 0;
  std::set<int32_t> bound_to;
  for (const Member* rank : ranks) {
    most = std::max(most, rank->allowed_cpus);
    bound_to.insert(rank->first_cpu);
  }
  const size_t cpus = most == 1 ? bound_to.size() : static_cast<size_t>(most);
  return static_cast<double>(ranks.size()) / static_cast<double>(std::max<size_t>(cpus, 1));
}

bool is_tcp(const Transport* transport) {
  return transport != nullptr && std::string_view(transport->name) == "tcp";
}

}  // namespace

Wiring::Wiring(const Session& session, const std::vector<int>& ranks, const Transport* transport)
    : transport_(transport), here_(session.member(session.rank()).endpoint.host) {
  for (const int rank : ranks) {
    const Member& member = session.member(rank);
    all_.push_back(&member);
    hosts_[member.endpoint.host].push_back(&member);
  }
}

bool Wiring::by_network() const { return !one_host() || is_tcp(transport_); }

bool Wiring::crowded() const { return ranks_per_cpu(hosts_.at(here_)) > 1; }

size_t Wiring::most_ranks_of_a_host() const {
  size_t most = 0;
  for (const auto& [host, ranks] : hosts_) most = std::max(most, ranks.size());
  return most;
}

/// Ranks for each CPU, on the host where it is most; at least 1.
double Wiring::crowding() const {
  double most = 1;
  for (const auto& [host, ranks] : hosts_) most = std::max(most, ranks_per_cpu(ranks));
  return most;
}

LinkCost Wiring::within_a_host() const {
  return is_tcp(transport_) ? loopback(crowding()) : shared_memory(crowding(), most_ranks_of_a_host());
}

Links Wiring::links(int64_t group) const {
  const LinkCost within = within_a_host();
  Links links{.nranks = static_cast<int>(all_.size()), .cost = within, .near_cost = within};
  const bool divides = group > 0 && group < links.nranks && links.nranks % group == 0;
  if (group == 0)
    links.group = near_at_a_time(all_);
  else if (divides)
    links.group = static_cast<int>(group);
  if (!one_host())
    links.cost = kNetwork;
  else if (links.group > 1 && !is_tcp(transport_))
    links.cost = between_caches(within);
  return links;
}

ConnectionParams Wiring::settle(ConnectionParams asked) const {
  const ConnectionParams usual;
  if (asked.slot_bytes == 0) asked.slot_bytes = by_network() ? kNetworkSlotBytes : usual.slot_bytes;
  if (asked.slots == 0)
    asked.slots = crowding() > 1 ? usual.slots : slots_for(asked.slot_bytes, most_ranks_of_a_host());
  if (asked.sockets == 0) asked.sockets = one_host() ? kSocketsInHost : usual.sockets;
  return asked;
}

bool Wiring::shares_memory() const {
  const std::string_view name = transport_ == nullptr ? "shm" : transport_->name;
  return one_host() && (name == "shm" || name == "local");
}

std::vector<int> Wiring::near_order() const {
  return by_network() ? near_together(all_) : std::vector<int>();
}

/// All ranks' inputs and outputs take twice the caches' room then, so that what comes first has gone at the
/// end.
size_t Wiring::most_cached_bytes() const {
  constexpr size_t kUnknownCacheBytes = size_t{32} << 20;
  static const size_t cache_bytes = last_level_cache_bytes();
  return (cache_bytes != 0 ? cache_bytes : kUnknownCacheBytes) / hosts_.at(here_).size();
}

}  // namespace rondo
