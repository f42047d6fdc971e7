// SPDX-License-Identifier: Apache-2.0
#include "plan/gpu_costs.h"

#include <algorithm>

#include "base/cost_table.h"
#include "synthesis/forest_algorithm.h"
#include "synthesis/machine_network.h"
#include "synthesis/rings_algorithm.h"

namespace rondo {
namespace {

const LinkCost& block_cost() {
  static const CostTable costs;
  return costs[CostKind::DeviceBlock];
}

/// The ranks, if the whole of a long call takes that long for each byte of its vector, at whatever level.
LinkModel at_rate(double us_per_byte, const Cost& cost, LinkModel ranks) {
  const double vectors = cost.steady > 0 ? cost.steady : cost.volume;
  ranks.cost = {.latency_us = block_cost().latency_us, .us_per_byte = 0};
  std::ranges::fill(ranks.inner_costs, ranks.cost);
  ranks.within_hosts = ranks.cost;
  if (vectors > 0) ranks.cost.us_per_byte = us_per_byte / vectors;
  return ranks;
}

double vector_bytes(const Call& call, int nranks) {
  return static_cast<double>(call.vector_bytes(nranks).value_or(0));
}

}  // namespace

double GpuCosts::us(const Call& call, const std::function<double(int from, int to)>& volume) const {
  const double bytes = vector_bytes(call, links_.nranks());
  return bytes == 0 ? 0 : bytes * links_.us_per_byte(volume);
}

const GpuCosts::LinkedPlan& GpuCosts::linked(const Algorithm& algorithm, const Shape& shape,
                                             const ExecutionTerms& terms) {
  const auto [known, is_new] = plans_.try_emplace({&algorithm, shape.root, shape.commutative});
  if (!is_new) return known->second;
  const auto fit = channels_that_fit(algorithm, shape, terms);
  if (!fit.ok()) return known->second;
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < shape.nranks; ++rank) ranks.push_back(algorithm.build(shape, rank));
  size_t lanes = 1;
  for (const Schedule& schedule : ranks) lanes = std::max(lanes, schedule.lanes.size());
  known->second = {.link_us_per_byte = links_.us_per_byte(ranks),
                   .vectors = std::ranges::max(loads_of(ranks, SimulatedNetwork())),
                   .lanes = static_cast<int>(lanes),
                   .fit = fit.value()};
  return known->second;
}

Prediction GpuCosts::over_connections(const Algorithm& algorithm, const Call& call, const Shape& shape,
                                      const LinkModel& ranks, const ExecutionTerms& terms) {
  if (!algorithm.supports(shape)) return {};
  const LinkedPlan& plan = linked(algorithm, shape, terms);
  if (plan.fit == 0) return {.obstacle = "the ranks' GPUs cannot run it"};
  const auto chosen = choose_execution(algorithm, call, shape, terms, plan.fit);
  if (!chosen.ok()) return {.obstacle = "the ranks' GPUs cannot run it"};
  const auto& [cut, protocol, channels] = chosen.value();
  const double by_blocks = plan.vectors * block_cost().us_per_byte / (plan.lanes * channels);
  const double by_links = plan.link_us_per_byte * sent_bytes_per_byte(protocol);
  // Channels have a tile each at the same time.
  const size_t chunk_bytes = cut.tile_units * call.unit_bytes();
  const size_t message_bytes = chunk_bytes * static_cast<size_t>(algorithm.max_count(shape));
  Prediction made = predict_over_connections(
      algorithm, call, shape, at_rate(std::max(by_blocks, by_links), algorithm.cost(shape), ranks),
      message_bytes * static_cast<size_t>(channels));
  made.chunk_bytes = chunk_bytes;
  return made;
}

double GpuCosts::least_us_per_byte(const Shape& shape) {
  const auto [known, is_new] = least_.try_emplace({shape.kind, shape.root});
  if (is_new) known->second = links_.least_us_per_byte(shape.kind, shape.root);
  return known->second;
}

std::vector<const Algorithm*> GpuCosts::found(const Call& call, const Shape& shape, double other_us) {
  std::vector<const Algorithm*> rows;
  const double least_us =
      block_cost().latency_us + vector_bytes(call, shape.nranks) * least_us_per_byte(shape);
  if (call.varying || least_us >= other_us) return rows;
  for (const char* name : {kForest, kRings}) {
    if (!FoundPlans::have(shape.kind, name)) continue;
    if (const auto row = found_plans_->find(shape.kind, name); row.ok()) rows.push_back(row.value());
  }
  return rows;
}

}  // namespace rondo
