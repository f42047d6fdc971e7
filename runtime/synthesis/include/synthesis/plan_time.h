// SPDX-License-Identifier: Apache-2.0
// How long a plan takes on a network, in simulated time, and why. Pure functions: any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/topology_graph.h"
#include "schedule/schedule.h"
#include "schedule/simulator.h"
#include "search/forest.h"

namespace rondo {

/// A network, and what plans on it can reach.
struct PlanNetwork {
  SimulatedNetwork simulated = {};
  std::vector<std::string> names = {};  // of its links, or ports out of and into each rank
  double limit = 0;                     // bus bandwidth, GB/s; 0: there is none
  std::string limit_links = {};         // what the limit is due to
};

/// Each rank has a port out and one in.
PlanNetwork ports_network(int nranks, const SimulatedNetwork& ports);

/// Rank r is gpus[r]. With a forest, whose Schedules the ranks have, messages take its routes.
Result<PlanNetwork> links_network(const TopologyGraph& links, std::span<const int> gpus, const Shape& shape,
                                  const std::vector<Schedule>& ranks, const Forest* forest, double latency_s,
                                  int slots);

/// Of one call; times in seconds, bandwidths in GB/s.
struct PlanTime {
  double bytes = 0;  // of the vector
  double seconds = 0;
  double rounds = 0;         // messages that follow one another, of the longest such sequence in a tile
  double latency = 0;        // of all these
  std::string busiest = {};  // the link that takes longest for what it carries
  double busiest_bytes = 0;
  double busiest_time = 0;
  double waits = 0;      // the rest of the time; negative: rounds pass while the link is busy
  double bandwidth = 0;  // bus bandwidth; 0: nothing is moved
  double limit = 0;      // see PlanNetwork
  std::string limit_links = {};
};

/// Internal, with the Step, if it never ends. `transfers`: see simulate().
Result<PlanTime> plan_time(const Shape& shape, const std::vector<Schedule>& ranks, double bytes, int tiles,
                           const PlanNetwork& network, std::vector<SimulatedTransfer>* transfers = nullptr);

/// "64 MiB: 538 us", a line for each part, and the bus bandwidth with its share of the limit.
std::string text_of(const PlanTime& time);

/// "  bus bandwidth 109.2 GB/s", with its share of a limit that is not 0; empty if it is 0.
std::string bandwidth_text(double bandwidth, double limit = 0, const std::string& limit_links = "");

}  // namespace rondo
