// SPDX-License-Identifier: Apache-2.0
#include "plan/pull_costs.h"

#include <algorithm>

namespace rondo {
namespace {

/// Whether each peer reads a different part of a rank's post, and few read all of it.
bool is_parted(CollectiveKind kind) {
  return kind == CollectiveKind::Scatter || kind == CollectiveKind::AllToAll;
}

/// What a call takes of what a PullCost has.
struct PullWork {
  double rounds;
  double bytes;
};

PullWork pull_work(const Algorithm& algorithm, const Call& call, const Shape& shape, const PullCost& pull) {
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
  return {waits, vectors * bytes};
}

std::vector<TimePart> parts_of(const PullWork& work, const PullCost& pull) {
  std::vector<TimePart> parts{{"rounds", fmt::format("{:.4g} x {:.3g} us", work.rounds, pull.round_us),
                               work.rounds * pull.round_us * 1e-6}};
  if (work.bytes > 0)
    parts.push_back({"bytes",
                     fmt::format("{} at {:.3g} GB/s", size_text(work.bytes), 1e-3 / pull.us_per_byte),
                     work.bytes * pull.us_per_byte * 1e-6});
  return parts;
}

size_t max_bytes(const PullTerms& terms, CollectiveKind kind) {
  return terms.requested_bytes.value_or(max_pulled_bytes(kind, terms.cost.ranks_per_cpu > 1));
}

/// Whether two ranks that send each other the vector, or half of it each, do so faster over connections,
/// where it moves to and fro in the same lines.
bool is_outdone(const PullTerms& terms, const Call& call, const Shape& shape) {
  if (!terms.lines_move || terms.requested_bytes || terms.cost.ranks_per_cpu > 1 || shape.nranks != 2 ||
      !traits(call.kind).is_mutual())
    return false;
  const size_t messages = call.kind == CollectiveKind::AllReduce ? 1 : 2;
  return *call.vector_bytes(shape.nranks) > messages * bytes_of(Threshold::PulledExchange);
}

std::string_view obstacle(const PullTerms& terms, const Call& call, const Shape& shape) {
  if (call.varying) return "it takes no _v form, whose blocks may have different lengths";
  if (shape.nranks == 1) return "there is one rank";
  const size_t longest = max_bytes(terms, call.kind);
  if (longest == 0) return "RONDO_EXCHANGE_BYTES is 0";
  return *call.vector_bytes(shape.nranks) > longest ? "its vector is longer" : std::string_view();
}

}  // namespace

size_t max_pulled_bytes(CollectiveKind kind, bool share_cpus) {
  const bool copies_blocks = is_parted(kind) || kind == CollectiveKind::AllGather;
  if (!share_cpus) return bytes_of(copies_blocks ? Threshold::PulledBlocks : Threshold::PulledVector);
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
  const auto [rounds, bytes] = pull_work(algorithm, call, shape, pull);
  return rounds * pull.round_us + bytes * pull.us_per_byte;
}

Executor shm_pull_row(const PullTerms& terms) {
  return {.name = "shm_pull",
          .terms = fmt::format(
              "in memory that all ranks see; vectors of at most {} bytes (RONDO_EXCHANGE_BYTES); {:.3g} us a "
              "round, {:.3g} us per byte",
              max_bytes(terms, CollectiveKind::AllReduce), terms.cost.round_us, terms.cost.us_per_byte),
          .obstacle = [terms](const Call& call, const Shape& shape) { return obstacle(terms, call, shape); },
          .predict = [terms](const Algorithm& algorithm, const Call& call, const Shape& shape) -> Prediction {
            if (algorithm.rounds == 0 || !algorithm.supports(shape))
              return {.obstacle = "it is not made of one or two rounds"};
            return {.us = predicted_pull_us(algorithm, call, shape, terms.cost),
                    .is_outdone = is_outdone(terms, call, shape)};
          },
          .parts =
              [terms](const Algorithm& algorithm, const Call& call, const Shape& shape) {
                return parts_of(pull_work(algorithm, call, shape, terms.cost), terms.cost);
              }};
}

}  // namespace rondo
