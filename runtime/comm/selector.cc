#include "comm/selector.h"

#include <algorithm>
#include <limits>

#include "base/collective_names.h"

namespace rondo {
namespace {

/// Where ranks cannot all know how long a _v form is, they choose as for this many bytes.
constexpr size_t kUnknownBytes = size_t{64} * 1024;
constexpr size_t kChunkAlignment = 64;  // bytes

/// The longest chunk. How many chunks share a slot may differ from rank to rank; the chunk's size may not.
/// 0: a slot has not even room for an element of each.
size_t chunk_elements(const Algorithm& algorithm, const Shape& shape, size_t unit_bytes, size_t slot_bytes) {
  const size_t elements = slot_bytes / static_cast<size_t>(algorithm.most_count(shape)) / unit_bytes;
  const size_t line = std::max<size_t>(1, kChunkAlignment / unit_bytes);
  return elements > line ? elements - elements % line : elements;
}

Times times_over(const LinkCost& link, size_t vector_bytes, int nranks) {
  const auto bytes = static_cast<double>(vector_bytes);
  const double cold_bytes = std::max(0.0, bytes - link.cached_bytes / nranks);
  return {.latency = link.latency_us,
          .vector = bytes * link.us_per_byte,
          .message = link.us_per_message,
          .fold = bytes * link.us_per_folded_byte,
          .one_way = link.one_way,
          .cold = cold_bytes * link.us_per_cold_byte,
          .runs_ahead = link.runs_ahead};
}

/// Infinite where chunks have no room for an element.
double predicted_us(const Algorithm& algorithm, const Shape& shape, size_t vector_bytes, size_t chunk_bytes,
                    const Links& links) {
  if (chunk_bytes == 0) return std::numeric_limits<double>::infinity();
  const Chunks chunks = chunks_of(shape, algorithm.parts(shape));
  const size_t tile_bytes = chunk_bytes * static_cast<size_t>(std::max(chunks.input, chunks.output));
  const size_t tiles = std::max<size_t>(1, (vector_bytes + tile_bytes - 1) / tile_bytes);
  const auto over = [&](const LinkCost& link, const Cost& cost) {
    return predicted_time(cost, times_over(link, vector_bytes, shape.nranks), static_cast<double>(tiles),
                          link.ranks_per_cpu);
  };
  return over(links.cost, algorithm.cost(shape)) + over(links.near_cost, algorithm.near_cost(shape));
}

/// Of several algorithms, the first of those that take the least time.
struct Best {
  const Algorithm* row = nullptr;
  double us = std::numeric_limits<double>::infinity();

  void take(const Algorithm& other, double other_us) {
    if (row != nullptr && other_us >= us) return;
    row = &other;
    us = other_us;
  }
};

}  // namespace

uint64_t mix_plan(uint64_t plan, uint64_t value) {
  plan ^= value + 0x9e3779b97f4a7c15u + (plan << 6) + (plan >> 2);
  return plan * 0xff51afd7ed558ccdu;
}

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
    RONDO_TRY_ASSIGN(selector.forced_[*kind], algorithm_by_name(*kind, rule.substr(equals + 1)));
  }
  return selector;
}

bool Selector::keeps_bits(const Algorithm& row, const Call& call) const {
  return !reproducible_ || !reduces(call.kind) ||
         row.association >= association_that_fixes_bits(call.type, call.op);
}

std::string_view Selector::obstacle(const Algorithm& row, const Call& call, const Shape& shape) const {
  const auto forced = forced_.find(row.kind);
  if (forced != forced_.end() && forced->second != &row) return "another was asked for";
  if (row.for_groups && shape.group == 1) return "its ranks are not in equal groups (hosts, caches)";
  if (!row.supports(shape)) return "cannot do this call";
  if (!keeps_bits(row, call)) return "not reproducible";
  if (row.for_shared_memory && forced == forced_.end()) return "only where all ranks see the same memory";
  return {};
}

std::vector<Candidate> Selector::candidates(const Call& call, const Links& links, size_t slot_bytes) const {
  const Shape shape = call.shape(links.nranks, links.group);
  const size_t bytes = call.vector_bytes(links.nranks).value_or(kUnknownBytes);
  std::vector<Candidate> made;
  for (const Algorithm& row : algorithms()) {
    if (row.kind != shape.kind) continue;
    Candidate candidate{.algorithm = &row, .obstacle = obstacle(row, call, shape)};
    const bool is_able = row.supports(shape);
    const size_t chunk_bytes =
        is_able ? chunk_elements(row, shape, call.unit_bytes(), slot_bytes) * call.unit_bytes() : 0;
    candidate.predicted_us = predicted_us(row, shape, bytes, chunk_bytes, links);
    made.push_back(candidate);
  }
  return made;
}

/// Why the algorithm that was asked for cannot make the call.
Status Selector::refuse(const Algorithm& forced, const Call& call, const Shape& shape) const {
  const auto kind = collective_name(shape.kind);
  if (forced.supports(shape)) {
    std::string others;
    for (const Algorithm& row : algorithms())
      if (row.kind == shape.kind && row.supports(shape) && keeps_bits(row, call))
        others += fmt::format("{}{}", others.empty() ? "" : ", ", row.name);
    return error(Code::Unsupported,
                 "RONDO_REPRODUCIBLE is 1, and {} by {} was asked for (RONDO_ALGORITHM, or the config's "
                 "algorithm), which does not combine operands in the order that fixes the bits of this call; "
                 "{} do",
                 kind, forced.name, others);
  }
  return error(Code::Unsupported, "{} by {} was asked for, but it cannot do this call ({} ranks{}{}{})", kind,
               forced.name, shape.nranks, shape.varying ? ", blocks of different lengths" : "",
               shape.commutative ? "" : ", an operation that is not commutative",
               forced.for_groups && shape.group == 1 ? ", not in equal groups of hosts or caches" : "");
}

Result<const Algorithm*> Selector::choose(const Call& call, const Links& links, size_t slot_bytes) const {
  const Shape shape = call.shape(links.nranks, links.group);
  if (const auto forced = forced_.find(shape.kind); forced != forced_.end())
    if (!obstacle(*forced->second, call, shape).empty()) return refuse(*forced->second, call, shape);
  const Candidate* best = nullptr;
  const std::vector<Candidate> all = candidates(call, links, slot_bytes);
  for (const Candidate& candidate : all) {
    if (!candidate.obstacle.empty()) continue;
    if (best == nullptr || candidate.predicted_us < best->predicted_us) best = &candidate;
  }
  if (best != nullptr) return best->algorithm;
  return error(Code::Unsupported, "no algorithm does {} over {} ranks{}", collective_name(shape.kind),
               shape.nranks, reproducible_ ? " reproducibly (RONDO_REPRODUCIBLE is 1)" : "");
}

/// The algorithm by which an Exchange makes the call; null: none does.
const Algorithm* Selector::exchanged(const Call& call, const Shape& shape,
                                     const ExchangeTerms& exchange) const {
  if (call.varying || shape.nranks == 1 || exchange.most_bytes == 0) return nullptr;
  const size_t bytes = *call.vector_bytes(shape.nranks);
  if (bytes > exchange.most_bytes) return nullptr;
  const auto forced = forced_.find(shape.kind);
  Best best;
  for (const Algorithm& row : algorithms())
    if (row.kind == shape.kind && row.rounds != 0 && row.supports(shape) && keeps_bits(row, call) &&
        (forced == forced_.end() || forced->second == &row))
      best.take(row, predicted_time(row.cost(shape),
                                    {.latency = exchange.cost.latency_us,
                                     .vector = static_cast<double>(bytes) * exchange.cost.us_per_byte},
                                    1));
  return best.row;
}

Result<Decision> Selector::select(const Call& call, const Links& links, size_t slot_bytes,
                                  const ExchangeTerms& exchange) const {
  const Shape shape = call.shape(links.nranks, links.group);
  if (const Algorithm* algorithm = exchanged(call, shape, exchange))
    return Decision{.algorithm = algorithm,
                    .tile_units = std::max<size_t>(1, call.count * call.type.bytes / call.unit_bytes()),
                    .plan = marked(mix_plan(0, static_cast<uint64_t>(algorithm - algorithms().data()))),
                    .exchanged = true};
  RONDO_TRY_ASSIGN(const Algorithm* algorithm, choose(call, links, slot_bytes));
  RONDO_TRY_ASSIGN(Decision decision, cut(*algorithm, call, shape, slot_bytes));
  decision.plan = marked(decision.plan);
  return decision;
}

Result<Decision> cut(const Algorithm& algorithm, const Call& call, const Shape& shape, size_t slot_bytes) {
  const size_t tile_units = chunk_elements(algorithm, shape, call.unit_bytes(), slot_bytes);
  if (tile_units == 0)
    return error(Code::Unsupported,
                 "{} by {} moves {} elements of {} bytes at once, and a slot has {} bytes "
                 "(RONDO_SLOT_BYTES)",
                 collective_name(call.kind), algorithm.name, algorithm.most_count(shape), call.type.bytes,
                 slot_bytes);
  const uint64_t row = static_cast<uint64_t>(&algorithm - algorithms().data());
  const uint64_t group = algorithm.for_groups ? static_cast<uint64_t>(shape.group) : 1;
  return Decision{&algorithm, tile_units, mix_plan(mix_plan(mix_plan(0, row), tile_units), group)};
}

}  // namespace rondo
