// SPDX-License-Identifier: Apache-2.0
#include "synthesis/plan_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time_text.h"
#include "limit/bound.h"
#include "synthesis/machine_network.h"
#include "synthesis/schedule_cost.h"

namespace rondo {
namespace {

double bytes_per_s(const SimulatedNetwork& network, size_t link) {
  return network.links.empty() ? network.bandwidth_bytes_per_s : network.links[link];
}

void find_busiest(const std::vector<Schedule>& ranks, const PlanNetwork& network, PlanTime& time) {
  const std::vector<double> loads = loads_of(ranks, network.simulated);
  if (loads.empty()) return;
  const auto seconds_per_byte = [&](size_t i) { return loads[i] / bytes_per_s(network.simulated, i); };
  size_t busiest = 0;
  for (size_t i = 1; i != loads.size(); ++i)
    if (seconds_per_byte(i) > seconds_per_byte(busiest)) busiest = i;
  time.busiest = network.names[busiest];
  time.busiest_bytes = loads[busiest] * time.bytes;
  time.busiest_time = seconds_per_byte(busiest) * time.bytes;
}

}  // namespace

PlanNetwork ports_network(int nranks, const SimulatedNetwork& ports) {
  PlanNetwork made{.simulated = ports};
  for (const char* end : {"out of", "into"})
    for (int rank = 0; rank != nranks; ++rank)
      made.names.push_back(fmt::format("port {} rank {}", end, rank));
  return made;
}

Result<PlanNetwork> links_network(const TopologyGraph& links, std::span<const int> gpus, const Shape& shape,
                                  const std::vector<Schedule>& ranks, const Forest* forest, double latency_s,
                                  int slots) {
  RONDO_TRY_ASSIGN(const MachineNetwork machine, MachineNetwork::of(links, gpus, ranks, forest));
  PlanNetwork made{.simulated = machine.network(latency_s, slots)};
  for (const TopologyLink& link : links.links())
    made.names.push_back(fmt::format("{} {} -> {}", link_class_name(link.cls), links.node(link.from).name,
                                     links.node(link.to).name));
  if (const auto bound = bandwidth_bound(links, gpus, shape.kind, shape.root); bound.ok()) {
    made.limit = bound.value().bus.approximate() / 1e6;
    made.limit_links = bound.value().limit;
  }
  return made;
}

Result<PlanTime> plan_time(const Shape& shape, const std::vector<Schedule>& ranks, double bytes, int tiles,
                           const PlanNetwork& network, std::vector<SimulatedTransfer>* transfers) {
  PlanTime time{.bytes = bytes, .limit = network.limit, .limit_links = network.limit_links};
  RONDO_TRY_ASSIGN(time.seconds, simulate(shape, ranks, bytes, tiles, network.simulated, transfers));
  if (shape.kind == CollectiveKind::Barrier) time.bytes = 0;
  time.rounds = cost_of(shape, ranks, network.simulated.slots).rounds;
  time.latency = time.rounds * network.simulated.latency_s;
  find_busiest(ranks, network, time);
  time.waits = time.seconds - time.latency - time.busiest_time;
  if (time.seconds > 0)
    time.bandwidth = bus_factor(shape.kind, shape.nranks) * time.bytes / time.seconds / 1e9;
  return time;
}

std::string bandwidth_text(double bandwidth, double limit, const std::string& limit_links) {
  if (bandwidth <= 0) return "";
  std::string text = fmt::format("  bus bandwidth {:.1f} GB/s", bandwidth);
  if (limit > 0)
    text += fmt::format(", {:.1f}% of the limit of {:.1f} GB/s{}{}", 100 * bandwidth / limit, limit,
                        limit_links.empty() ? "" : ": ", limit_links);
  return text + "\n";
}

std::string text_of(const PlanTime& time) {
  const double each_us = time.rounds > 0 ? time.latency / time.rounds * 1e6 : 0;
  const double speed = time.busiest_time > 0 ? time.busiest_bytes / time.busiest_time / 1e9 : 0;
  const TimePart parts[] = {
      {"rounds", fmt::format("{:g} x {:g} us", time.rounds, each_us), time.latency},
      {"busiest link",
       fmt::format("{}: {} at {:.1f} GB/s", time.busiest, size_text(time.busiest_bytes), speed),
       time.busiest_time},
      time.waits >= 0 ? TimePart{"the rest", "waits for other ranks, and filling of pipelines", time.waits}
                      : TimePart{"overlap", "rounds that pass while the link is busy", time.waits}};
  return fmt::format("{}: {}\n{}{}", size_text(time.bytes), time_text(time.seconds),
                     parts_text(parts, time.seconds),
                     bandwidth_text(time.bandwidth, time.limit, time.limit_links));
}

}  // namespace rondo
