// SPDX-License-Identifier: Apache-2.0
#include "synthesis/rings_algorithm.h"

#include <memory>

#include "schedule/relabelled.h"
#include "schedule/spread.h"
#include "synthesis/proved.h"

namespace rondo {
namespace {

/// The row of the table by which data goes around one ring; null: there is none.
const Algorithm* row_of_ring(CollectiveKind kind) {
  for (const Algorithm& row : algorithms())
    if (row.kind == kind && !traits(kind).is_scan() &&
        (row.name == std::string_view("ring") || row.name == std::string_view("chain")))
      return &row;
  return nullptr;
}

class Rings {
 public:
  Rings(CollectiveKind kind, std::vector<std::vector<int>> orders)
      : row_(*row_of_ring(kind)), orders_(std::move(orders)) {}

  bool supports(const Shape& shape) const {
    const int max_count = row_.max_count(shape);
    return shape.nranks == static_cast<int>(orders_[0].size()) && row_.supports(shape) &&
           may_relabel(shape, max_count) && may_spread(shape, max_count) &&
           int64_t{chunks_of(shape, 1).input + chunks_of(shape, 1).output} * parts(shape) < Step::kNone;
  }
  int parts(const Shape& shape) const { return static_cast<int>(orders_.size()) * row_.parts(shape); }
  int max_count(const Shape& shape) const { return row_.max_count(shape); }
  Schedule build(const Shape& shape, int rank) const {
    std::vector<Schedule> channels;
    for (const std::vector<int>& order : orders_)
      channels.push_back(build_in_order(row_, shape, rank, order));
    return spread(shape, channels);
  }

 private:
  const Algorithm& row_;
  const std::vector<std::vector<int>> orders_;
};

}  // namespace

bool has_rings(CollectiveKind kind) { return row_of_ring(kind) != nullptr; }

Algorithm rings_algorithm(CollectiveKind kind, std::vector<std::vector<int>> orders) {
  const auto nranks = static_cast<int>(orders[0].size());
  const auto rings = std::make_shared<const Rings>(kind, std::move(orders));
  return proved({.name = kRings,
                 .kind = kind,
                 .summary = "around rings over the machine's links",
                 .supports = [rings](const Shape& shape) { return rings->supports(shape); },
                 .build = [rings](const Shape& shape, int rank) { return rings->build(shape, rank); },
                 .max_count = [rings](const Shape& shape) { return rings->max_count(shape); },
                 .parts = [rings](const Shape& shape) { return rings->parts(shape); }},
                nranks);
}

}  // namespace rondo
