// SPDX-License-Identifier: Apache-2.0
// Rails: which ports carry the connection of two ranks. A rank uses the ports nearest to it, the ranks of a
// host start on different ones of equal distance, and a port meets the one of the same number at the other
// host, with which it usually shares a switch. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "verbs/port.h"

namespace rondo::verbs {

/// VerbsPort::distance where no PCI path is known, by the NUMA nodes of port and rank; -1: unknown.
uint16_t numa_distance(int port_numa, int rank_numa);

/// The positions of the ports that a rank uses if they reach its peer: those of the lowest distance. Ports
/// with less than half of the rate of the fastest one count only if there are no others.
std::vector<int> nearest_ports(std::span<const VerbsPort> ports);

/// For each rank of a host, given all ranks' ports in the order of ranks: the position of the port that it
/// starts with, which is the one among its nearest that the fewest ranks before it start with; -1 without
/// ports.
std::vector<int> first_ports(std::span<const std::vector<VerbsPort>> ranks);

struct RailEnd {
  int rank = 0;  // in the session
  std::span<const VerbsPort> ports;
  int first = 0;  // as first_ports() says
};

/// A port of each end, by position.
struct RailPair {
  int here = 0;
  int there = 0;
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

struct Rails {
  std::vector<RailPair> used;   // lane i takes the pair i modulo their number; no port is in two of them
  std::vector<RailPair> spare;  // the other pairs that reach, best first, for when one fails
};

/// Whether a port reaches another; the same with the ports swapped.
using Reaches = std::function<bool(const VerbsPort& a, const VerbsPort& b)>;

/// The pairs of ports for a connection. The other end's result is this one with the ends swapped. If a pair
/// of both ends' nearest ports reaches, only such pairs are used: first those of equal number, then any.
Rails rails_between(const RailEnd& here, const RailEnd& there, const Reaches& reaches);

}  // namespace rondo::verbs
