// SPDX-License-Identifier: Apache-2.0
// The simulator: runs an algorithm over all ranks in simulated time, on one of two kinds of network.
//
// Ports: each rank has one port out and one port in, all of equal bandwidth; a message occupies both for
// bytes / bandwidth. With the whole vector as one tile this gives the textbook costs.
// Links: connections share the links that their messages cross, each link's bandwidth max-min fairly.
//
// A message arrives one latency after its last byte was sent. Arithmetic takes no time. Pure: any thread.
#pragma once

#include <functional>
#include <vector>

#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

/// A link that messages of a connection cross, with the share of their bytes that does.
struct SimulatedLinkUse {
  int link = 0;
  double share = 1;
};

struct SimulatedNetwork {
  double latency_s = 0;
  double bandwidth_bytes_per_s = 1e9;  // of a port; not used if there are links
  int slots = 2;                       // of a connection
  std::vector<double> links = {};      // bandwidths in bytes per second; empty: the network is one of ports
  /// What the connection from one rank to another by a port crosses. Called once for each connection.
  std::function<std::vector<SimulatedLinkUse>(int from, int to, int port)> route = {};
};

/// A message: who sent it, by which Step, and when, in seconds from the start.
struct SimulatedTransfer {
  int from = 0;
  int to = 0;
  int port = 0;
  int lane = 0;  // of the sender, as step is
  int step = 0;
  int tile = 0;
  double bytes = 0;
  double begins = 0;  // its first byte leaves
  double ends = 0;    // its last byte leaves
  double arrives = 0;
};

/// Seconds from the start to the last rank's last Step, for a vector of `bytes` bytes (the longer of a rank's
/// input and output) in `tiles` tiles; an error if the schedule deadlocks, or a connection has no route. All
/// messages, in the order in which they have left, are appended to `transfers` if it is not null.
Result<double> simulate(const Shape& shape, const std::vector<Schedule>& ranks, double bytes, int tiles,
                        const SimulatedNetwork& network, std::vector<SimulatedTransfer>* transfers = nullptr);

}  // namespace rondo
