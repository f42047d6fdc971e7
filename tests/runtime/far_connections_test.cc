// SPDX-License-Identifier: Apache-2.0
// Connections between hosts: how many a rank has by what is selected, and between which ranks.
#include <cmath>
#include <set>
#include <string>

#include "hosts_of_ranks.h"
#include "sanitized.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr size_t kShort = 8, kMedium = size_t{64} << 10, kLong = size_t{256} << 20;
constexpr int kRails = 8;  // a NIC for each rank of a host

/// The peers of a rank on other hosts.
std::set<int> far_peers(const Schedule& schedule, const std::vector<int>& hosts) {
  std::set<int> peers;
  for (const auto& set : schedule.peer_sets)
    for (const int peer : set)
      if (schedule.is_peer(peer) &&
          hosts[static_cast<size_t>(peer)] != hosts[static_cast<size_t>(schedule.rank)])
        peers.insert(peer);
  return peers;
}

/// Of many ranks, those at either end of a host and a few others.
bool is_looked_at(int rank, int nranks) {
  return nranks <= 200 || rank % kRails == 0 || rank % kRails == kRails - 1 || rank % 13 == 0;
}

/// The connections from one place of a host to another place of another host.
int across_rails(const Algorithm& row, const Shape& shape, const std::vector<int>& hosts) {
  int found = 0;
  for (int rank = 0; rank < shape.nranks; ++rank) {
    if (!is_looked_at(rank, shape.nranks)) continue;
    for (const int peer : far_peers(row.build(shape, rank), hosts))
      found += peer % kRails != rank % kRails ? 1 : 0;
  }
  return found;
}

size_t max_far_peers(const Algorithm& row, const Shape& shape, const std::vector<int>& hosts) {
  size_t most = 0;
  for (int rank = 0; rank < shape.nranks; ++rank)
    if (is_looked_at(rank, shape.nranks))
      most = std::max(most, far_peers(row.build(shape, rank), hosts).size());
  return most;
}

/// Whether all that can make the call connects every rank with all others.
bool only_by_all(const Shape& shape) {
  return std::ranges::all_of(algorithms(), [&](const Algorithm& row) {
    return row.kind != shape.kind || row.connects_all || !row.supports(shape);
  });
}

TEST_CASE(
    "between equal hosts nothing crosses rails but all-to-alls, gathers, scatters and, beyond 16 hosts, the "
    "shortest calls") {
  using enum CollectiveKind;
  int seen = 0;
  for (const int count : {2, 3, 4, 8, 16, 17, 32}) {
    if (kSanitized && count > 4) continue;
    const std::vector<int> hosts = host_by_host(std::vector(static_cast<size_t>(count), kRails));
    const LinkModel links = links_of(hosts);
    for (const CallForm& form :
         forms_of(std::vector{AllReduce, Broadcast, Reduce, AllGather, ReduceScatter, Barrier, Scan, Exscan},
                  {kShort, kMedium, kLong})) {
      if ((count > 16 && form.bytes == kShort) || form.reproducible) continue;
      const Algorithm& row = choice(links, form);
      INFO(count << " hosts, " << text_of(form) << ": " << row.name);
      REQUIRE(across_rails(row, form.shape(links), hosts) == 0);
      ++seen;
    }
  }
  CHECK(seen > 50);
  // The count finds those that there are.
  const std::vector<int> hosts = host_by_host({kRails, kRails});
  const LinkModel links = links_of(hosts);
  const CallForm form{.kind = AllReduce, .bytes = kLong};
  CHECK(across_rails(*algorithm_by_name(AllReduce, "ring").value(), form.shape(links), hosts) == 4);
}

TEST_CASE("beyond 16 hosts a rank is connected with 2 log m + 2 ranks of m others, unless nothing else can") {
  int seen = 0;
  for (const auto& [count, size, other] : {std::tuple{17, 8, 8},
                                           {24, 8, 8},
                                           {64, 8, 8},
                                           {17, 1, 1},
                                           {64, 1, 1},
                                           {17, 8, 4},
                                           {17, 8, 6},
                                           {17, 8, 1},
                                           {17, 2, 1},
                                           {24, 7, 16},
                                           {32, 8, 7},
                                           {64, 8, 5}}) {
    if (kSanitized && count * size > 34) continue;
    std::vector<int> sizes(static_cast<size_t>(count), size);
    for (size_t host = 5; host < sizes.size(); host += 11) sizes[host] = other;
    const std::vector<int> hosts = host_by_host(sizes);
    const LinkModel links = links_of(hosts);
    for (const CallForm& form : forms_of(kAllCollectives, {kShort, kMedium, kLong})) {
      if (form.kind == CollectiveKind::AllToAll || form.reproducible) continue;
      const Shape shape = form.shape(links);
      const Algorithm& row = choice(links, form);
      INFO(count << " hosts of " << size << " and " << other << ", " << text_of(form) << ": " << row.name);
      CHECK(row.connects_all == only_by_all(shape));
      if (row.connects_all) continue;
      const auto found = static_cast<double>(max_far_peers(row, shape, hosts));
      CHECK(found <= 2 * std::log2(count) + 2);
      ++seen;
    }
  }
  CHECK(seen > (kSanitized ? 50 : 300));
}

}  // namespace
