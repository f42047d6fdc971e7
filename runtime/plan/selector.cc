// SPDX-License-Identifier: Apache-2.0
#include "plan/selector.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/error_kinds.h"
#include "plan/connection_costs.h"

namespace rondo {
namespace {

constexpr uint64_t kReproducible = 0x7265;
constexpr std::string_view kAnother = "another was requested";

bool is_of_gpus(std::string_view executor) { return executor.starts_with("gpu_"); }

bool is_better(const Candidate& one, const Candidate& other) {
  const auto rank = [](const Candidate& candidate) {
    const Prediction& prediction = candidate.prediction;
    return std::tuple(!prediction.obstacle.empty(), !std::isfinite(prediction.us), prediction.is_outdone,
                      prediction.is_last_resort, prediction.us);
  };
  return rank(one) < rank(other);
}

}  // namespace

Result<Selector> Selector::parse(std::string_view text, bool reproducible) {
  Selector selector;
  RONDO_TRY_ASSIGN(selector.rules_, Rules::parse(text));
  selector.reproducible_ = reproducible;
  return selector;
}

uint64_t Selector::marked(uint64_t hash) const {
  return reproducible_ ? mix_plan(hash, kReproducible) : hash;
}

ForcedChoice Selector::forced(const Call& call, int nranks) const {
  if (call.is_internal()) return {};
  ForcedChoice forced = rules_.choice(call, nranks);
  const bool is_of_other_memory =
      !forced.executor.empty() && is_of_gpus(forced.executor) != call.place.on_gpu;
  return is_of_other_memory ? ForcedChoice() : forced;
}

Result<std::vector<const Algorithm*>> Selector::rows(const ForcedChoice& forced, CollectiveKind kind) const {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : algorithms())
    if (row.kind == kind) rows.push_back(&row);
  if (!FoundPlans::have(kind, forced.algorithm)) return rows;
  const auto found = found_plans_ ? found_plans_->find(kind, forced.algorithm)
                                  : error(ErrorKind::NoSuchPlan, "no machine is known");
  if (!found.ok())
    return error(ErrorKind::NoSuchPlan, "{} by {} was requested, but there is no such plan: {}",
                 collective_name(kind), forced.algorithm, found.status().message())
        .as(found.status().code())
        .because(found.status().kind());
  rows.push_back(found.value());
  return rows;
}

bool Selector::keeps_bits(const Algorithm& row, const Call& call) const {
  return !reproducible_ || !reduces(call.kind) ||
         row.association >= association_that_fixes_bits(call.type, call.op);
}

std::string_view Selector::obstacle(const ForcedChoice& forced, const Algorithm& row, const Call& call,
                                    const Shape& shape) const {
  if (!forced.algorithm.empty() && forced.algorithm != row.name) return kAnother;
  if (row.for_groups && shape.level_count() == 0)
    return "its ranks are not in equal groups (hosts, memory nodes, caches)";
  if (!row.supports(shape)) return "cannot do this call";
  if (!keeps_bits(row, call)) return "not reproducible";
  return {};
}

std::string_view Selector::obstacle(const ForcedChoice& forced, const Executor& executor, const Call& call,
                                    const Shape& shape) const {
  if (!forced.executor.empty() && forced.executor != executor.name) return kAnother;
  if (executor.predict == nullptr && !forced.algorithm.empty()) return "it uses its own plans";
  return executor.obstacle ? executor.obstacle(call, shape) : std::string_view();
}

Candidate Selector::candidate(const ForcedChoice& forced, const Executor& executor, const Algorithm& row,
                              const Call& call, const Shape& shape) const {
  Candidate made{&executor, &row, executor.predict(row, call, shape)};
  const std::string_view why = obstacle(forced, row, call, shape);
  if (!why.empty() || (!forced.algorithm.empty() && std::isfinite(made.prediction.us)))
    made.prediction.obstacle = why;
  return made;
}

void Selector::add_candidates(const ForcedChoice& forced, std::span<const Algorithm* const> rows,
                              const Executor& executor, const Call& call, const Shape& shape,
                              std::vector<Candidate>& made) const {
  if (executor.on_gpu != call.place.on_gpu) return;
  const std::string_view why = obstacle(forced, executor, call, shape);
  if (!why.empty() || executor.predict == nullptr) {
    Prediction own{.obstacle = why};
    if (executor.predict_own != nullptr) own.us = executor.predict_own(call);
    made.push_back({&executor, nullptr, own});
    return;
  }
  for (const Algorithm* row : rows) made.push_back(candidate(forced, executor, *row, call, shape));
  if (executor.found == nullptr || !forced.algorithm.empty()) return;
  for (const Algorithm* row : executor.found(call, shape))
    made.push_back(candidate(forced, executor, *row, call, shape));
}

Result<std::vector<Candidate>> Selector::candidates(const Call& call, const Shape& shape,
                                                    std::span<const Executor> executors) const {
  const ForcedChoice forced = this->forced(call, shape.nranks);
  RONDO_TRY_ASSIGN(const auto rows, this->rows(forced, shape.kind));
  std::vector<Candidate> made;
  for (const Executor& executor : executors) add_candidates(forced, rows, executor, call, shape, made);
  return made;
}

/// Why the requested choice cannot make the call.
Status Selector::refuse(const ForcedChoice& forced, std::span<const Algorithm* const> rows, const Call& call,
                        const Shape& shape, std::span<const Candidate> candidates) const {
  const auto kind = collective_name(shape.kind);
  const auto requested =
      std::ranges::find_if(rows, [&](const Algorithm* row) { return row->name == forced.algorithm; });
  const Algorithm* const algorithm = requested == rows.end() ? nullptr : *requested;
  if (algorithm != nullptr && algorithm->supports(shape) && !keeps_bits(*algorithm, call)) {
    std::string others;
    for (const Algorithm* row : rows)
      if (row->supports(shape) && keeps_bits(*row, call))
        others += fmt::format("{}{}", others.empty() ? "" : ", ", row->name);
    return error(ErrorKind::NotReproducible,
                 "RONDO_REPRODUCIBLE is 1, and {} by {} was requested (RONDO_ALGORITHM, or the config's "
                 "algorithm), which does not combine operands in the order that fixes the bits of this call; "
                 "{} do",
                 kind, algorithm->name, others);
  }
  if (forced.executor.empty() || (algorithm != nullptr && !obstacle(forced, *algorithm, call, shape).empty()))
    return error(
        ErrorKind::AlgorithmCannot, "{} by {} was requested, but it cannot do this call ({} ranks{}{}{})",
        kind, algorithm->name, shape.nranks, shape.varying ? ", blocks of different lengths" : "",
        shape.commutative ? "" : ", an operation that is not commutative",
        algorithm->for_groups && shape.level_count() == 0 ? ", not in equal groups of hosts or caches" : "");
  const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return one.executor->name == forced.executor &&
           (algorithm == nullptr || one.algorithm == nullptr || one.algorithm == algorithm);
  });
  return error(
      ErrorKind::AlgorithmCannot, "{} by {}@{} was requested, but it cannot do this call: {}", kind,
      algorithm == nullptr ? "" : algorithm->name, forced.executor,
      found == candidates.end() ? "this communicator has no such executor" : found->prediction.obstacle);
}

Result<Candidate> Selector::select(const Call& call, const Shape& shape,
                                   std::span<const Executor> executors) const {
  const ForcedChoice forced = this->forced(call, shape.nranks);
  RONDO_TRY_ASSIGN(const auto rows, this->rows(forced, shape.kind));
  std::vector<Candidate> all;
  std::optional<Candidate> best;
  for (const Executor& executor : executors) {
    if (best && !best->prediction.is_outdone && !executor.competes) break;
    const auto first = static_cast<ptrdiff_t>(all.size());
    add_candidates(forced, rows, executor, call, shape, all);
    const auto own = std::min_element(all.begin() + first, all.end(), is_better);
    if (own == all.end() || !own->prediction.obstacle.empty()) continue;
    if (!best || is_better(*own, *best)) best = *own;
    if (!executor.competes && !best->prediction.is_outdone) break;
  }
  if (best) return *best;
  if (!forced.algorithm.empty() || !forced.executor.empty()) return refuse(forced, rows, call, shape, all);
  return error(ErrorKind::AlgorithmCannot, "no algorithm supports {} on {} ranks{}",
               collective_name(shape.kind), shape.nranks,
               reproducible_ ? " reproducibly (RONDO_REPRODUCIBLE is 1)" : "");
}

std::string name_of(const Candidate& candidate) {
  return fmt::format("{}@{}", candidate.algorithm == nullptr ? "" : candidate.algorithm->name,
                     candidate.executor->name);
}

}  // namespace rondo
