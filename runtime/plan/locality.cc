// SPDX-License-Identifier: Apache-2.0
#include "locality.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace rondo {
namespace {

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
