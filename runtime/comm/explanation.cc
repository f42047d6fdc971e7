#include "comm/explanation.h"

#include <algorithm>
#include <cmath>

#include "schedule/verifier.h"

namespace rondo {
namespace {

/// With more ranks the symbolic run that finds the order takes long.
constexpr int kMostRanks = 256;
constexpr size_t kMostFormulas = 8;

std::string title(const Call& call, const ExplainTerms& terms) {
  Signature signature = call.signature();
  std::string text = describe(signature);
  text.resize(text.rfind(", call "));
  return fmt::format("{} of {} ranks, {} bytes, in host memory\n", text, terms.links.nranks,
                     call.vector_bytes(terms.links.nranks).value_or(0));
}

std::string choice(const Selector& selector, const Call& call, const ExplainTerms& terms,
                   const Decision& decision) {
  const char* name = decision.algorithm->name;
  if (decision.exchanged)
    return fmt::format(
        "goes by {}, in {}, in memory that all ranks see: its vector has no more than {} bytes "
        "(RONDO_EXCHANGE_BYTES)\n",
        name, decision.algorithm->rounds == 1 ? "one round" : "two rounds", terms.exchange.most_bytes);
  const size_t chunk_bytes = decision.tile_units * call.unit_bytes();
  return fmt::format("goes by {}, {}, in chunks of up to {} bytes\n", name,
                     selector.forces(call.kind) ? "which was asked for" : "of the least predicted time",
                     chunk_bytes);
}

std::string row(const Candidate& candidate, bool reduces) {
  std::string notes = reduces ? std::string(association_name(candidate.algorithm->association)) : "";
  if (!candidate.obstacle.empty())
    notes += fmt::format("{}not chosen: {}", notes.empty() ? "" : "; ", candidate.obstacle);
  const std::string time =
      std::isfinite(candidate.predicted_us) ? fmt::format("{:.2f}", candidate.predicted_us) : "-";
  return fmt::format("  {:<20} {:>12} us   {}", candidate.algorithm->name, time, notes);
}

std::string costs(const Links& links) {
  const std::string far =
      fmt::format("{} us a message, {} us a byte", links.cost.latency_us, links.cost.us_per_byte);
  if (links.group == 1) return far;
  return fmt::format("{}; within groups of {} ranks {} and {}", far, links.group, links.near_cost.latency_us,
                     links.near_cost.us_per_byte);
}

std::string table(const Selector& selector, const Call& call, const ExplainTerms& terms) {
  std::string text = fmt::format("predicted over connections ({}; slots of {} bytes):\n", costs(terms.links),
                                 terms.slot_bytes);
  for (const Candidate& candidate : selector.candidates(call, terms.links, terms.slot_bytes)) {
    std::string line = row(candidate, reduces(call.kind));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// Each different formula with the first part or rank that it holds for.
struct Order {
  std::string place;
  std::string formula;
  bool operator==(const Order&) const = default;
};

std::vector<Order> orders_of(const Call& call, const Shape& shape, const Algorithm& algorithm,
                             const FormulaStyle& style) {
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < shape.nranks; ++rank) ranks.push_back(algorithm.build(shape, rank));
  const bool by_part = call.kind == CollectiveKind::AllReduce || call.kind == CollectiveKind::Reduce;
  std::vector<Order> orders;
  for (const Formula& one : formulas(shape, ranks, style)) {
    const Order order{by_part ? fmt::format("part {} of {}", one.chunk + 1, ranks[0].input_chunks)
                              : fmt::format("rank {}", one.rank),
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

std::string association_text(const Call& call, const Shape& shape, const Algorithm& algorithm) {
  const Association needed = association_that_fixes_bits(call.type, call.op);
  const bool averages = call.op.function == nullptr && call.op.built_in == Reduction::Avg;
  const FormulaStyle style{.roundings = needed == Association::OneFold,
                           .divisor = averages ? shape.nranks : 1};
  std::string text = fmt::format("operands are combined in this order ({}{}):\n", legend(call, needed),
                                 call.op.scales_input ? "; x is scaled before, and rounded" : "");
  if (shape.nranks > kMostRanks)
    return text + fmt::format("  not worked out for more than {} ranks\n", kMostRanks);
  const std::vector<Order> orders = orders_of(call, shape, algorithm, style);
  for (size_t i = 0; i < std::min(orders.size(), kMostFormulas); ++i)
    text += fmt::format("  {}: {}\n", orders[i].place, orders[i].formula);
  if (orders.size() > kMostFormulas)
    text += fmt::format("  and so on, {} more\n", orders.size() - kMostFormulas);
  return text;
}

}  // namespace

Result<std::string> explain(const Selector& selector, const Call& call, const ExplainTerms& terms) {
  RONDO_TRY_ASSIGN(const Decision decision,
                   selector.select(call, terms.links, terms.slot_bytes, terms.exchange));
  std::string text = title(call, terms) + choice(selector, call, terms, decision);
  if (selector.reproducible()) text += "reproducibly (RONDO_REPRODUCIBLE is 1)\n";
  text += table(selector, call, terms);
  if (reduces(call.kind))
    text += association_text(call, call.shape(terms.links.nranks, terms.links.group), *decision.algorithm);
  return text;
}

}  // namespace rondo
