// SPDX-License-Identifier: Apache-2.0
// Which addresses two ports can reach one another by. First each end decides alone which of its GIDs it
// offers (offer_gids()); then both ends know the pairs to try, in the same order (address_pairs()). Nothing
// here proves that packets pass: a pair that looks right may have no route. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "verbs/port.h"

namespace rondo::verbs {

/// What the user says about GIDs; normally nothing.
struct GidChoice {
  std::string_view variable = "RONDO_IB_GID";  // that says it, for errors
  std::optional<uint8_t> index;
  bool v1 = false;          // GIDs of RoCE v1 instead of v2
  bool is_required = true;  // false: a port that lacks the index is not used, as NCCL's users expect
};

/// Reduces the port's table to the GIDs that connections may use: on RoCE those of v2 unless v1 or an index
/// is named. `admits` tells whether RONDO_SOCKET_IFNAME admits an interface; the GIDs of others are tried
/// last. InvalidArgument if the named index is not in the table, or the port has no GID of v1.
Status offer_gids(VerbsPort& port, const GidChoice& choice,
                  const std::function<bool(std::string_view interface)>& admits);

/// A GID of either port, by its position in `gids`. -1 at both ends: LIDs alone are the addresses, as within
/// a subnet of InfiniBand; otherwise packets have a GRH.
struct AddressPair {
  int here = -1;
  int there = -1;

  bool has_grh() const { return here >= 0; }
  friend bool operator==(const AddressPair&, const AddressPair&) = default;
};

/// All pairs by which the two ports may reach one another, best first; the other end's list is this one with
/// the two ends of each pair swapped. On RoCE a pair is of one type and address family. Pairs that share a
/// subnet, on interfaces admitted at both ends, come first; then routable ones; link-local addresses, which
/// reach only one another, last.
std::vector<AddressPair> address_pairs(const VerbsPort& here, const VerbsPort& there);

/// What a pair owes its place in that list to, as a phrase: "addresses of one subnet".
const char* kind_of(const AddressPair& pair, const VerbsPort& here, const VerbsPort& there);

/// The kinds of the ports' addresses, as bits. Ports that have an address pair have a bit in common; ports
/// with a bit in common may lack one only if they are of different subnets of InfiniBand.
uint64_t fabrics_of(const std::vector<VerbsPort>& ports);

/// Why address_pairs() is empty, as a clause: "mlx5_0:1 here is InfiniBand and mlx5_1:1 there is Ethernet".
std::string why_no_pair(const VerbsPort& here, const VerbsPort& there);

}  // namespace rondo::verbs
