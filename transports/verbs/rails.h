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

/// The positions of the ports that a rank uses if they reach its peer: those of the lowest distance. Ports
/// with less than half of the rate of the fastest one count only if there are no others.
std::vector<int> nearest_ports(std::span<const VerbsPort> ports);

/// Queue pairs of a connection, of which each of the nearest ports has one: at most, unless the user has set
/// their number.
constexpr size_t kUsualPairs = 4;
/// Gbit/s at which a connection of the rank that has these ports can send. `pairs`: as the user has set it,
/// or 0.
double rate_of_connection(std::span<const VerbsPort> ports, size_t pairs);

/// The position of the port that a rank starts with: `turn` says how many ranks of its host come before it
/// that have the same choice. -1 without ports.
int first_port(std::span<const VerbsPort> ports, uint32_t turn);

struct RailEnd {
  int rank = 0;  // in the session
  std::span<const VerbsPort> ports;
  int first = 0;  // as first_port() says
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
