// SPDX-License-Identifier: Apache-2.0
#include "verbs/port_pair.h"

#include <algorithm>

namespace rondo::verbs {
namespace {

/// IPv4 addresses, mapped into IPv6: ::ffff:a.b.c.d.
bool is_ipv4(const Gid& gid) {
  return std::all_of(gid.raw.begin(), gid.raw.begin() + 10, [](uint8_t byte) { return byte == 0; }) &&
         gid.raw[10] == 0xff && gid.raw[11] == 0xff;
}

bool is_link_local(const Gid& gid) { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

bool fit(const Gid& one, const Gid& other) {
  if (one.type != other.type || one.type == GidType::RoceV1) return false;
  return is_ipv4(one) == is_ipv4(other) && is_link_local(one) == is_link_local(other);
}

/// The first pair of GIDs of one family.
std::optional<PortPair> join(const std::vector<VerbsPort>& dialler, size_t d,
                             const std::vector<VerbsPort>& acceptor, size_t a) {
  const VerbsPort& one = dialler[d];
  const VerbsPort& other = acceptor[a];
  if (one.infiniband != other.infiniband) return std::nullopt;
  if (one.infiniband && one.subnet_prefix == other.subnet_prefix && one.lid != 0 && other.lid != 0)
    return PortPair{.dialler = {d, 0}, .acceptor = {a, 0}, .by_gid = false};
  for (size_t i = 0; i < one.gids.size(); ++i)
    for (size_t j = 0; j < other.gids.size(); ++j)
      if (fit(one.gids[i], other.gids[j])) return PortPair{.dialler = {d, i}, .acceptor = {a, j}};
  return std::nullopt;
}

}  // namespace

std::optional<PortPair> choose_pair(const std::vector<VerbsPort>& dialler,
                                    const std::vector<VerbsPort>& acceptor, uint64_t lane) {
  const size_t rails = std::max(dialler.size(), acceptor.size());
  for (size_t i = 0; i < rails && !dialler.empty() && !acceptor.empty(); ++i) {
    const size_t rail = (lane + i) % rails;
    if (auto pair = join(dialler, rail % dialler.size(), acceptor, rail % acceptor.size())) return pair;
  }
  for (size_t d = 0; d < dialler.size(); ++d)
    for (size_t a = 0; a < acceptor.size(); ++a)
      if (auto pair = join(dialler, d, acceptor, a)) return pair;
  return std::nullopt;
}

}  // namespace rondo::verbs
