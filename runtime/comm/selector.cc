#include "comm/selector.h"

#include <algorithm>
#include <limits>

namespace rondo {
namespace {

/// Where ranks cannot all know how long a _v form is, they choose as for this many bytes.
constexpr size_t kUnknownBytes = size_t{64} * 1024;
constexpr size_t kChunkAlignment = 64;  // bytes

std::optional<CollectiveKind> kind_by_name(std::string_view name) {
  for (int i = 0; i < kCollectives; ++i)
    if (collective_name(static_cast<CollectiveKind>(i)) == name) return static_cast<CollectiveKind>(i);
  return std::nullopt;
}

/// The longest chunk. How many chunks share a slot may differ from rank to rank; the chunk's size may not.
/// 0: a slot has not even room for an element of each.
size_t chunk_elements(const Algorithm& algorithm, const Shape& shape, size_t unit_bytes, size_t slot_bytes) {
  const size_t elements = slot_bytes / static_cast<size_t>(algorithm.most_count(shape)) / unit_bytes;
  const size_t line = std::max<size_t>(1, kChunkAlignment / unit_bytes);
  return elements > line ? elements - elements % line : elements;
}

/// Infinite where chunks have no room for an element.
double predicted_us(const Algorithm& algorithm, const Shape& shape, size_t vector_bytes, size_t chunk_bytes,
                    const LinkCost& cost) {
  if (chunk_bytes == 0) return std::numeric_limits<double>::infinity();
  const Chunks chunks = chunks_of(shape, algorithm.parts(shape));
  const size_t tile_bytes = chunk_bytes * static_cast<size_t>(std::max(chunks.input, chunks.output));
  const size_t tiles = std::max<size_t>(1, (vector_bytes + tile_bytes - 1) / tile_bytes);
  const auto bytes = static_cast<double>(vector_bytes);
  return predicted_time(algorithm.cost(shape), cost.latency_us, bytes * cost.us_per_byte,
                        static_cast<double>(tiles), cost.us_per_message, bytes * cost.us_per_folded_byte);
}

}  // namespace

uint64_t mix_plan(uint64_t plan, uint64_t value) {
  plan ^= value + 0x9e3779b97f4a7c15u + (plan << 6) + (plan >> 2);
  return plan * 0xff51afd7ed558ccdu;
}

Result<Selector> Selector::parse(const std::string& text) {
  Selector selector;
  std::string_view left = text;
  while (!left.empty()) {
    const size_t end = std::min(left.find(';'), left.size());
    const std::string_view rule = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (rule.empty()) continue;
    const size_t equals = rule.find('=');
    const auto kind = kind_by_name(rule.substr(0, equals));
    if (equals == std::string_view::npos || !kind)
      return error(Code::InvalidArgument,
                   "algorithm '{}': it must be COLLECTIVE=ALGORITHM, as in all_reduce=ring", rule);
    RONDO_TRY_ASSIGN(selector.forced_[*kind], algorithm_by_name(*kind, rule.substr(equals + 1)));
  }
  return selector;
}

Result<const Algorithm*> Selector::choose(const Call& call, const Shape& shape, const LinkCost& cost,
                                          size_t slot_bytes) const {
  if (const auto forced = forced_.find(shape.kind); forced != forced_.end()) {
    if (forced->second->supports(shape)) return forced->second;
    return error(Code::Unsupported, "{} by {} was asked for, but it cannot do this call ({} ranks{}{})",
                 collective_name(shape.kind), forced->second->name, shape.nranks,
                 shape.varying ? ", blocks of different lengths" : "",
                 shape.commutative ? "" : ", an operation that is not commutative");
  }
  const size_t bytes = call.vector_bytes(shape.nranks).value_or(kUnknownBytes);
  const Algorithm* best = nullptr;
  double best_us = std::numeric_limits<double>::infinity();
  for (const Algorithm& row : algorithms()) {
    if (row.kind != shape.kind || row.for_shared_memory || !row.supports(shape)) continue;
    const double us =
        predicted_us(row, shape, bytes,
                     chunk_elements(row, shape, call.unit_bytes(), slot_bytes) * call.unit_bytes(), cost);
    if (best == nullptr || us < best_us) {
      best_us = us;
      best = &row;
    }
  }
  if (best == nullptr)
    return error(Code::Unsupported, "no algorithm does {} over {} ranks", collective_name(shape.kind),
                 shape.nranks);
  return best;
}

/// The algorithm by which an Exchange makes the call; null: none does.
const Algorithm* Selector::exchanged(const Call& call, const Shape& shape, size_t exchange_bytes) const {
  if (call.varying || shape.nranks == 1 || exchange_bytes == 0) return nullptr;
  if (*call.vector_bytes(shape.nranks) > exchange_bytes) return nullptr;
  const auto forced = forced_.find(shape.kind);
  for (const Algorithm& row : algorithms())
    if (row.kind == shape.kind && row.one_round && row.supports(shape) &&
        (forced == forced_.end() || forced->second == &row))
      return &row;
  return nullptr;
}

Result<Decision> Selector::select(const Call& call, int nranks, const LinkCost& cost, size_t slot_bytes,
                                  size_t exchange_bytes) const {
  const Shape shape = call.shape(nranks);
  if (const Algorithm* algorithm = exchanged(call, shape, exchange_bytes))
    return Decision{.algorithm = algorithm,
                    .tile_units = std::max<size_t>(1, call.count * call.type.bytes / call.unit_bytes()),
                    .plan = mix_plan(0, static_cast<uint64_t>(algorithm - algorithms().data())),
                    .exchanged = true};
  RONDO_TRY_ASSIGN(const Algorithm* algorithm, choose(call, shape, cost, slot_bytes));
  return cut(*algorithm, call, shape, slot_bytes);
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
  return Decision{&algorithm, tile_units, mix_plan(mix_plan(0, row), tile_units)};
}

}  // namespace rondo
