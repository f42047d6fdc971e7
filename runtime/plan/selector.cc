// SPDX-License-Identifier: Apache-2.0
#include "plan/selector.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/words.h"
#include "plan/connection_costs.h"

namespace rondo {
namespace {

constexpr uint64_t kReproducible = 0x7265;
constexpr std::string_view kAnother = "another was requested";

bool is_of_gpus(std::string_view executor) { return executor.starts_with("gpu_"); }

Result<std::string> executor_by_name(std::string_view name) {
  if (std::find(std::begin(kExecutorNames), std::end(kExecutorNames), name) != std::end(kExecutorNames))
    return std::string(name);
  const std::vector<std::string_view> names(std::begin(kExecutorNames), std::end(kExecutorNames));
  return error(Code::InvalidArgument, "unknown executor '{}'; expected one of {}{}", name,
               fmt::join(names, ", "), did_you_mean(name, names));
}

/// Where the '@' before the executor is; the length if there is none. A path may have one too.
size_t executor_begins(std::string_view choice) {
  const size_t at = std::min(choice.rfind('@'), choice.size());
  const bool is_of_path =
      choice.starts_with("file:") && !executor_by_name(choice.substr(std::min(at + 1, choice.size()))).ok();
  return is_of_path ? choice.size() : at;
}

Status check_algorithm_name(CollectiveKind kind, std::string_view name) {
  if (FoundPlans::have(kind, name)) return {};
  const Status status = algorithm_by_name(kind, name).status();
  const auto others = FoundPlans::names(kind);
  if (status.ok() || others.empty()) return status;
  return error(status.code(), "{} (and of the ranks' machine or of a file: {})", status.message(),
               fmt::join(others, ", "));
}

bool is_better(const Candidate& one, const Candidate& other) {
  const auto rank = [](const Candidate& candidate) {
    const Prediction& prediction = candidate.prediction;
    return std::tuple(!prediction.obstacle.empty(), !std::isfinite(prediction.us), prediction.is_last_resort,
                      prediction.us);
  };
  return rank(one) < rank(other);
}

}  // namespace

Result<Selector> Selector::parse(const std::string& text, bool reproducible) {
  Selector selector;
  selector.reproducible_ = reproducible;
  std::string_view left = text;
  while (!left.empty()) {
    const size_t end = std::min(left.find(';'), left.size());
    const std::string_view rule = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (rule.empty()) continue;
    const size_t equals = rule.find('=');
    const auto kind = collective_by_name(rule.substr(0, equals));
    if (equals == std::string_view::npos || !kind)
      return error(Code::InvalidArgument,
                   "algorithm '{}': it must be COLLECTIVE=ALGORITHM, as in all_reduce=ring{}", rule,
                   kind ? "" : "; " + no_collective(rule.substr(0, equals)));
    const std::string_view choice = rule.substr(equals + 1);
    const size_t at = executor_begins(choice);
    const auto [entry, is_first] = selector.forced_.try_emplace(*kind);
    if (!is_first)
      return error(Code::InvalidArgument,
                   "algorithm '{}': {} is named twice; each collective may have one rule", text,
                   collective_name(*kind));
    ForcedChoice& forced = entry->second;
    if (at != choice.size()) {
      RONDO_TRY_ASSIGN(forced.executor, executor_by_name(choice.substr(at + 1)));
    }
    if (at != 0 || forced.executor.empty()) {
      forced.algorithm = choice.substr(0, at);
      RONDO_TRY(check_algorithm_name(*kind, forced.algorithm));
    }
  }
  return selector;
}

bool Selector::forces(CollectiveKind kind) const {
  const auto found = forced_.find(kind);
  return found != forced_.end() && !found->second.algorithm.empty();
}

uint64_t Selector::marked(uint64_t hash) const {
  return reproducible_ ? mix_plan(hash, kReproducible) : hash;
}

Selector::ForcedChoice Selector::forced(const Call& call) const {
  const auto found = forced_.find(call.kind);
  if (found == forced_.end() || call.is_internal()) return {};
  const ForcedChoice& forced = found->second;
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
                                  : error(Code::Unsupported, "no machine is known");
  if (!found.ok())
    return error(found.status().code(), "{} by {} was requested, but there is no such plan: {}",
                 collective_name(kind), forced.algorithm, found.status().message());
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
  if (row.for_groups && shape.levels.empty())
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
    made.push_back({&executor, nullptr, {.obstacle = why}});
    return;
  }
  for (const Algorithm* row : rows) made.push_back(candidate(forced, executor, *row, call, shape));
}

Result<std::vector<Candidate>> Selector::candidates(const Call& call, const Shape& shape,
                                                    std::span<const Executor> executors) const {
  const ForcedChoice forced = this->forced(call);
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
    return error(Code::Unsupported,
                 "RONDO_REPRODUCIBLE is 1, and {} by {} was requested (RONDO_ALGORITHM, or the config's "
                 "algorithm), which does not combine operands in the order that fixes the bits of this call; "
                 "{} do",
                 kind, algorithm->name, others);
  }
  if (forced.executor.empty() || (algorithm != nullptr && !obstacle(forced, *algorithm, call, shape).empty()))
    return error(
        Code::Unsupported, "{} by {} was requested, but it cannot do this call ({} ranks{}{}{})", kind,
        algorithm->name, shape.nranks, shape.varying ? ", blocks of different lengths" : "",
        shape.commutative ? "" : ", an operation that is not commutative",
        algorithm->for_groups && shape.levels.empty() ? ", not in equal groups of hosts or caches" : "");
  const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return one.executor->name == forced.executor &&
           (algorithm == nullptr || one.algorithm == nullptr || one.algorithm == algorithm);
  });
  return error(
      Code::Unsupported, "{} by {}@{} was requested, but it cannot do this call: {}", kind,
      algorithm == nullptr ? "" : algorithm->name, forced.executor,
      found == candidates.end() ? "this communicator has no such executor" : found->prediction.obstacle);
}

Result<Candidate> Selector::select(const Call& call, const Shape& shape,
                                   std::span<const Executor> executors) const {
  const ForcedChoice forced = this->forced(call);
  RONDO_TRY_ASSIGN(const auto rows, this->rows(forced, shape.kind));
  std::vector<Candidate> all;
  for (const Executor& executor : executors) {
    const auto first = static_cast<ptrdiff_t>(all.size());
    add_candidates(forced, rows, executor, call, shape, all);
    const auto best = std::min_element(all.begin() + first, all.end(), is_better);
    if (best != all.end() && best->prediction.obstacle.empty()) return *best;
  }
  if (!forced.algorithm.empty() || !forced.executor.empty()) return refuse(forced, rows, call, shape, all);
  return error(Code::Unsupported, "no algorithm supports {} on {} ranks{}", collective_name(shape.kind),
               shape.nranks, reproducible_ ? " reproducibly (RONDO_REPRODUCIBLE is 1)" : "");
}

std::string name_of(const Candidate& candidate) {
  return fmt::format("{}@{}", candidate.algorithm == nullptr ? "" : candidate.algorithm->name,
                     candidate.executor->name);
}

}  // namespace rondo
