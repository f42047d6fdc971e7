// SPDX-License-Identifier: Apache-2.0
#include "plan/selector.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "schedule/verifier.h"
#include "synthesis/plan_time.h"

namespace rondo {
namespace {

/// With more ranks the symbolic execution that finds the order takes too long.
constexpr int kMaxRanks = 256;
constexpr size_t kMaxFormulas = 8;

std::string title(const Call& call, int nranks) {
  std::string text = describe(call.signature());
  text.resize(text.rfind(", call "));
  return fmt::format("{} of {} ranks, {} bytes, in host memory\n", text, nranks,
                     call.vector_bytes(nranks).value_or(0));
}

std::string choice(bool is_requested, const Candidate& chosen) {
  std::string text = fmt::format("uses {}, {}", name_of(chosen),
                                 is_requested ? "which was requested" : "with the lowest predicted time");
  if (const size_t bytes = chosen.prediction.chunk_bytes; bytes != 0)
    text += fmt::format(", in chunks of up to {} bytes", bytes);
  return text + "\n";
}

/// What the predicted time consists of, and the bus bandwidth that it makes.
std::string time_of(const Candidate& chosen, const Call& call, const Shape& shape) {
  const double us = chosen.prediction.us;
  if (chosen.algorithm == nullptr || !chosen.executor->parts || !std::isfinite(us)) return "";
  const double bytes = static_cast<double>(call.vector_bytes(shape.nranks).value_or(0));
  const double moved = bus_factor(shape.kind, shape.nranks) * bytes;
  std::string text = fmt::format("predicted time: {}\n", time_text(us * 1e-6));
  text += parts_text(chosen.executor->parts(*chosen.algorithm, call, shape), us * 1e-6);
  return text + bandwidth_text(us > 0 ? moved / us / 1e3 : 0);
}

std::string row(const Candidate& candidate, bool reduces) {
  std::string notes = reduces ? std::string(association_name(candidate.algorithm->association)) : "";
  const auto& [us, obstacle, is_last_resort, is_outdone, chunk_bytes] = candidate.prediction;
  const std::string_view far = candidate.algorithm->connects_all ? "every host" : "more hosts than others";
  if (is_outdone) notes += fmt::format("{}slower than connections at this length", notes.empty() ? "" : "; ");
  if (is_last_resort) notes += fmt::format("{}last resort: connects with {}", notes.empty() ? "" : "; ", far);
  if (!obstacle.empty()) notes += fmt::format("{}not chosen: {}", notes.empty() ? "" : "; ", obstacle);
  const std::string time = std::isfinite(us) ? fmt::format("{:.2f}", us) : "-";
  std::string line = fmt::format("  {:<22} {:>12} us   {}", candidate.algorithm->name, time, notes);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string table(std::span<const Candidate> candidates, bool reduces) {
  std::string text;
  const Executor* latest = nullptr;
  for (const Candidate& candidate : candidates) {
    const auto& [executor, algorithm, prediction] = candidate;
    if (algorithm == nullptr) {
      text += fmt::format("not {} ({}): {}\n", executor->name, executor->terms, prediction.obstacle);
      continue;
    }
    if (std::exchange(latest, executor) != executor)
      text += fmt::format("predicted over {} ({}):\n", executor->name, executor->terms);
    text += row(candidate, reduces);
  }
  return text;
}

/// A distinct formula with the first part or rank that it applies to.
struct Order {
  std::string place;
  std::string formula;
  bool operator==(const Order&) const = default;
};

/// `chunks` is the number of chunks of an operand.
std::vector<Order> orders_of(CollectiveKind kind, std::span<const Formula> formulas, int chunks) {
  const bool by_part = kind == CollectiveKind::AllReduce || kind == CollectiveKind::Reduce;
  std::vector<Order> orders;
  for (const Formula& one : formulas) {
    const Order order{
        by_part ? fmt::format("part {} of {}", one.chunk + 1, chunks) : fmt::format("rank {}", one.rank),
        one.text};
    if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
  }
  const bool same = std::all_of(orders.begin(), orders.end(),
                                [&](const Order& order) { return order.formula == orders[0].formula; });
  if (same && !orders.empty()) orders = {{"everywhere", orders[0].formula}};
  return orders;
}

std::string legend(const Call& call, Association needed) {
  if (call.op.function != nullptr) return "a + b is the user's function of a and b";
  switch (needed) {
    case Association::Any: return "nothing is rounded: every order gives the same bits";
    case Association::RankOrder: return "each operation is rounded";
    case Association::OneFold: break;
  }
  return fmt::format("in float32, and r() rounds to {}", element_info(call.type.element()).name);
}

/// Of built-in operations that round: how often, from which the bound of the error follows.
std::string roundings_text(const Call& call, Association needed, std::span<const Formula> results) {
  if (needed == Association::Any || call.op.function != nullptr) return "";
  int roundings = 0;
  for (const Formula& one : results) roundings = std::max(roundings, one.roundings);
  return fmt::format("roundings of an operand to {}: at most {}\n", element_info(call.type.element()).name,
                     roundings);
}

std::string association_text(const Call& call, const Shape& shape, const Algorithm& algorithm) {
  const Association needed = association_that_fixes_bits(call.type, call.op);
  const bool averages = call.op.function == nullptr && call.op.built_in == Reduction::Avg;
  const FormulaStyle style{.roundings = needed == Association::OneFold,
                           .divisor = averages ? shape.nranks : 1};
  std::string text = fmt::format("operands are combined in this order ({}{}):\n", legend(call, needed),
                                 call.op.scales_input ? "; x is scaled before, and rounded" : "");
  if (shape.nranks > kMaxRanks)
    return text + fmt::format("  not computed for more than {} ranks\n", kMaxRanks);
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < shape.nranks; ++rank) ranks.push_back(algorithm.build(shape, rank));
  const std::vector<Formula> results = formulas(shape, ranks, style);
  const std::vector<Order> orders = orders_of(call.kind, results, ranks[0].chunks.input);
  for (size_t i = 0; i < std::min(orders.size(), kMaxFormulas); ++i)
    text += fmt::format("  {}: {}\n", orders[i].place, orders[i].formula);
  if (orders.size() > kMaxFormulas)
    text += fmt::format("  and so on, {} more\n", orders.size() - kMaxFormulas);
  return text + roundings_text(call, needed, results);
}

}  // namespace

Result<Choice> explain(const Selector& selector, const Call& call, const Shape& shape,
                       std::span<const Executor> executors) {
  RONDO_TRY_ASSIGN(const Candidate chosen, selector.select(call, shape, executors));
  const bool is_requested = !selector.forced(call, shape.nranks).algorithm.empty();
  std::string text = title(call, shape.nranks) + choice(is_requested, chosen) + time_of(chosen, call, shape);
  if (selector.reproducible()) text += "reproducibly (RONDO_REPRODUCIBLE is 1)\n";
  RONDO_TRY_ASSIGN(const std::vector<Candidate> candidates, selector.candidates(call, shape, executors));
  text += table(candidates, reduces(call.kind));
  if (reduces(call.kind)) text += association_text(call, shape, *chosen.algorithm);
  return Choice{chosen.algorithm, std::move(text)};
}

}  // namespace rondo
