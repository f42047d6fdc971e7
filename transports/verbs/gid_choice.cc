// SPDX-License-Identifier: Apache-2.0
#include "verbs/gid_choice.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

bool is_empty(const Gid& gid) { return gid.raw == IpAddress{}; }

std::string indices(const std::vector<Gid>& gids) {
  std::vector<int> found;
  for (const Gid& gid : gids) found.push_back(gid.index);
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

Status offer_index(VerbsPort& port, const GidChoice& choice) {
  const int wanted = *choice.index;
  const std::string present = indices(port.gids);
  std::erase_if(port.gids, [&](const Gid& gid) { return gid.index != wanted; });
  if (!port.gids.empty() || !choice.is_required) return {};
  return error(ErrorKind::GidMissing, "{} is {}: port {} has no GID of this index; it has {}",
               choice.variable, wanted, port.name(), present);
}

/// RoCE GIDs may reach one another if they are of the same kind.
unsigned address_kind(const Gid& gid) {
  return 4 * static_cast<unsigned>(gid.type) + (is_mapped_ipv4(gid.raw) ? 2 : 0) +
         (is_link_local(gid.raw) ? 1 : 0);
}

bool are_compatible(const Gid& a, const Gid& b) { return address_kind(a) == address_kind(b); }

/// By the longer prefix, so that neither end takes the other for a neighbour that it is not.
bool share_subnet(const Gid& a, const Gid& b) {
  if (a.prefix_bits == 0 || b.prefix_bits == 0) return false;
  return same_subnet(a.raw, b.raw, std::max(a.prefix_bits, b.prefix_bits));
}

/// Lower is better; the same with the ends swapped.
auto preference(const Gid& a, const Gid& b) {
  return std::tuple(is_link_local(a.raw), !(a.admitted && b.admitted), !share_subnet(a, b),
                    !is_mapped_ipv4(a.raw));
}

/// Every pair that `fits`, in the order of the tables. Equal ports are one port, or cannot be told apart:
/// there both ends take the same GID, because neither could know which of two is the other's.
template <typename Fits>
std::vector<AddressPair> pairs_that_fit(const VerbsPort& first, const VerbsPort& second, Fits fits) {
  const bool equal = first == second;
  std::vector<AddressPair> pairs;
  for (size_t i = 0; i < first.gids.size(); ++i)
    for (size_t j = 0; j < second.gids.size(); ++j)
      if ((!equal || i == j) && fits(first.gids[i], second.gids[j]))
        pairs.push_back({static_cast<int>(i), static_cast<int>(j)});
  return pairs;
}

std::vector<AddressPair> roce_pairs(const VerbsPort& first, const VerbsPort& second) {
  auto pairs = pairs_that_fit(first, second, are_compatible);
  const auto rank = [&](const AddressPair& pair) {
    return preference(first.gids[static_cast<size_t>(pair.here)],
                      second.gids[static_cast<size_t>(pair.there)]);
  };
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const AddressPair& a, const AddressPair& b) { return rank(a) < rank(b); });
  return pairs;
}

std::vector<AddressPair> infiniband_pairs(const VerbsPort& first, const VerbsPort& second) {
  if (first.lid == 0 || second.lid == 0) return {};  // no subnet manager has configured the port
  if (first.subnet_prefix == second.subnet_prefix) return {AddressPair{}};
  return pairs_that_fit(first, second, [](const Gid&, const Gid&) { return true; });
}

/// Any order that both ends agree on.
bool precedes(const VerbsPort& a, const VerbsPort& b) {
  ByteWriter bytes_of_a;
  ByteWriter bytes_of_b;
  a.write(bytes_of_a);
  b.write(bytes_of_b);
  return bytes_of_a.bytes() < bytes_of_b.bytes();
}

const char* link_layer(const VerbsPort& port) { return port.infiniband ? "InfiniBand" : "Ethernet"; }

std::string offered(const VerbsPort& port) {
  std::vector<std::string> texts;
  for (const Gid& gid : port.gids) texts.push_back(text(gid));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Status offer_gids(VerbsPort& port, const GidChoice& choice,
                  const std::function<bool(std::string_view interface)>& admits) {
  std::erase_if(port.gids, is_empty);
  for (Gid& gid : port.gids) gid.admitted = port.infiniband || admits(gid.interface);
  if (choice.index && (choice.is_required || !port.infiniband)) return offer_index(port, choice);
  if (port.infiniband) return {};
  const auto wanted = choice.v1 ? GidType::RoceV1 : GidType::RoceV2;
  std::erase_if(port.gids, [&](const Gid& gid) { return gid.type != wanted; });
  if (!choice.v1 || !port.gids.empty()) return {};
  return error(ErrorKind::GidMissing, "{} is v1: port {} has no GID of RoCE v1", choice.variable,
               port.name());
}

std::vector<AddressPair> address_pairs(const VerbsPort& here, const VerbsPort& there) {
  if (here.infiniband != there.infiniband) return {};
  const bool swapped = precedes(there, here);
  const VerbsPort& first = swapped ? there : here;
  const VerbsPort& second = swapped ? here : there;
  auto pairs = here.infiniband ? infiniband_pairs(first, second) : roce_pairs(first, second);
  if (swapped)
    for (AddressPair& pair : pairs) std::swap(pair.here, pair.there);
  return pairs;
}

const char* kind_of(const AddressPair& pair, const VerbsPort& here, const VerbsPort& there) {
  if (!pair.has_grh()) return "LIDs of one subnet";
  const Gid& a = here.gids[static_cast<size_t>(pair.here)];
  const Gid& b = there.gids[static_cast<size_t>(pair.there)];
  if (here.infiniband) return "addresses of different subnets";
  if (is_link_local(a.raw)) return "link-local addresses";
  if (!a.admitted || !b.admitted) return "addresses of interfaces that RONDO_SOCKET_IFNAME leaves out";
  return share_subnet(a, b) ? "addresses of one subnet" : "addresses of different subnets";
}

uint64_t fabrics_of(const std::vector<VerbsPort>& ports) {
  constexpr uint64_t kInfiniBand = 1;
  uint64_t fabrics = 0;
  for (const VerbsPort& port : ports) {
    if (port.infiniband && port.lid != 0) fabrics |= kInfiniBand;
    if (port.infiniband) continue;
    for (const Gid& gid : port.gids) fabrics |= kInfiniBand << (1 + address_kind(gid));
  }
  return fabrics;
}

std::string why_no_pair(const VerbsPort& here, const VerbsPort& there) {
  if (here.infiniband != there.infiniband)
    return fmt::format("{} here is {} and {} there is {}", here.name(), link_layer(here), there.name(),
                       link_layer(there));
  const std::pair<const VerbsPort*, const char*> ends[] = {{&here, "here"}, {&there, "there"}};
  for (const auto& [port, end] : ends)
    if (port->infiniband && port->lid == 0)
      return fmt::format("{} {} has no LID: is a subnet manager running?", port->name(), end);
  for (const auto& [port, end] : ends)
    if (port->gids.empty())
      return fmt::format("{} {} has no GID{}", port->name(), end,
                         port->infiniband ? ", which a port of another subnet needs"
                                          : " to offer: does its interface have an IP address?");
  return fmt::format(
      "no two GIDs are of one RoCE version, address family and scope: {} here has {}; {} there has {}",
      here.name(), offered(here), there.name(), offered(there));
}

}  // namespace rondo::verbs
