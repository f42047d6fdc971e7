// SPDX-License-Identifier: Apache-2.0
#include "synthesis/schedule_cost.h"

#include <algorithm>
#include <limits>

#include "schedule/simulator.h"

namespace rondo {
namespace {

struct Counts {
  CpuWork sent;
  double received = 0;  // messages
};

void count_sent(const Schedule& schedule, const Step& step, Counts& counts) {
  if (!step.has(kSend)) return;
  const auto receivers = static_cast<double>(schedule.peer_sets[step.send_set].size());
  counts.sent.messages += receivers;
  counts.sent.volume += receivers * step.count;
  // All but the first copy, and what was just received, are in the caches.
  counts.sent.warm += (step.has(kRecv) ? receivers : receivers - 1) * step.count;
}

void count_received(const Schedule& schedule, const Step& step, Counts& counts) {
  if (!step.has(kRecv)) return;
  const std::vector<int>& operands = schedule.peer_sets[step.recv_set];
  for (const int member : operands) counts.received += schedule.is_peer(member) ? 1 : 0;
  counts.sent.folds += (static_cast<double>(operands.size()) - 1) * step.count;
}

Counts counts_of(const Schedule& schedule) {
  Counts counts;
  for (const Lane& lane : schedule.lanes)
    for (const Step& step : lane.steps) {
      count_sent(schedule, step, counts);
      count_received(schedule, step, counts);
    }
  const double chunks = std::max(schedule.chunks.input, schedule.chunks.output);
  for (double* sum : {&counts.sent.volume, &counts.sent.warm, &counts.sent.folds}) *sum /= chunks;
  return counts;
}

/// Infinite if it never ends.
double time_of(const Shape& shape, const std::vector<Schedule>& ranks, double bytes, int tiles,
               double latency_s, int slots) {
  const auto time = simulate(shape, ranks, bytes, tiles,
                             {.latency_s = latency_s, .bandwidth_bytes_per_s = 1, .slots = slots});
  return time.ok() ? time.value() : std::numeric_limits<double>::infinity();
}

}  // namespace

Cost cost_of(const Shape& shape, const std::vector<Schedule>& ranks, int slots) {
  constexpr int kTiles = 8;
  Cost cost{.rounds = time_of(shape, ranks, 0, 1, 1, slots), .volume = time_of(shape, ranks, 1, 1, 0, slots)};
  cost.steady = (kTiles * time_of(shape, ranks, 1, kTiles, 0, slots) - cost.volume) / (kTiles - 1);
  const double n = shape.nranks;
  for (const Schedule& schedule : ranks) {
    const Counts counts = counts_of(schedule);
    cost.messages = std::max(cost.messages, counts.sent.messages);
    cost.folds = std::max(cost.folds, counts.sent.folds);
    cost.received = std::max(cost.received, counts.received);
    cost.warm = std::max(cost.warm, counts.sent.warm);
    cost.mean.volume += counts.sent.volume / n;
    cost.mean.messages += counts.sent.messages / n;
    cost.mean.folds += counts.sent.folds / n;
    cost.mean.warm += counts.sent.warm / n;
  }
  cost.warm = std::min(cost.warm, cost.volume);
  return cost;
}

}  // namespace rondo
