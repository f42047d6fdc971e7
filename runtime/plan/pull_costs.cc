// SPDX-License-Identifier: Apache-2.0
#include "plan/pull_costs.h"

#include <algorithm>

namespace rondo {
namespace {

/// Whether each peer reads a different part of a rank's post, and few read all of it.
bool is_parted(CollectiveKind kind) {
  return kind == CollectiveKind::Scatter || kind == CollectiveKind::AllToAll;
}

}  // namespace

size_t max_pulled_bytes(CollectiveKind kind, bool share_cpus) {
  if (!share_cpus) return bytes_of(Threshold::PulledVector);
  return bytes_of(is_parted(kind) || kind == CollectiveKind::Scan ? Threshold::SharedCpuPartsPull
                                                                  : Threshold::SharedCpuPull);
}

PullCost pull_cost(const CostTable& costs, int nranks, double ranks_per_cpu) {
  const bool share_cpus = ranks_per_cpu > 1;
  const LinkCost& cost = costs[share_cpus ? CostKind::SharedCpuPull : CostKind::Pull];
  return {cost.latency_us * (share_cpus ? nranks : 1), cost.us_per_byte, ranks_per_cpu};
}

double predicted_pull_us(const Algorithm& algorithm, const Call& call, const Shape& shape,
                         const PullCost& pull) {
  const Cost cost = algorithm.cost(shape);
  // What a root sends to each of the others is all that one of them reads.
  const bool is_of_root = traits(shape.kind).readers == RankSet::Root;
  const double most = is_of_root ? cost.volume / std::max(1, shape.nranks - 1) : cost.volume;
  const double on_average = cost.mean.volume != 0 ? cost.mean.volume : most;
  const double vectors = std::max(most, on_average * pull.ranks_per_cpu);
  const auto bytes = static_cast<double>(*call.vector_bytes(shape.nranks));
  // Ranks that only read, or only post, wait for no one: those ahead have made later calls by the time that
  // the last reads.
  constexpr double kAhead = 0.1;
  const double waits = cost.rounds * (traits(shape.kind).is_mutual() ? 1 : kAhead);
  return waits * pull.round_us + vectors * bytes * pull.us_per_byte;
}

}  // namespace rondo
