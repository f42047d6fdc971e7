// SPDX-License-Identifier: Apache-2.0
#include "packing_simplex.h"

#include <algorithm>

namespace rondo {
namespace {

bool fits(WideInteger value) { return value >= -PackingSimplex::kMax && value <= PackingSimplex::kMax; }

/// Mostly in 64 bits, which is many times as fast.
WideInteger quotient(WideInteger value, int64_t divisor) {
  return fits(value) ? WideInteger{static_cast<int64_t>(value) / divisor} : value / divisor;
}

}  // namespace

PackingSimplex::PackingSimplex(const std::vector<int64_t>& capacities)
    : rows_(static_cast<int>(capacities.size())),
      table_((capacities.size() + 1) * (capacities.size() + 1)),
      basis_(capacities.size(), -1) {
  for (int row = 1; row <= rows_; ++row) {
    table_[index(row, row - 1)] = 1;
    table_[index(row, rows_)] = capacities[static_cast<size_t>(row) - 1];
  }
}

bool PackingSimplex::add(const std::vector<int64_t>& amounts, int id) {
  auto direction = direction_of(amounts);
  if (!direction) return false;
  (*direction)[0] -= denominator_;
  return enter(*direction, id) && add_slack_rows();
}

/// What one unit of a column changes in each row, times the denominator.
std::optional<std::vector<int64_t>> PackingSimplex::direction_of(const std::vector<int64_t>& amounts) const {
  std::vector<int64_t> direction;
  for (int row = 0; row <= rows_; ++row) {
    WideInteger sum = 0;
    for (int column = 0; column != rows_; ++column)
      if (amounts[static_cast<size_t>(column)] != 0)
        sum += WideInteger{at(row, column)} * amounts[static_cast<size_t>(column)];
    if (!fits(sum)) return std::nullopt;
    direction.push_back(static_cast<int64_t>(sum));
  }
  return direction;
}

/// A row with a negative price is not used up at the optimum.
bool PackingSimplex::add_slack_rows() {
  while (true) {
    int cheapest = 0;
    for (int column = 1; column != rows_; ++column)
      if (price(column) < price(cheapest)) cheapest = column;
    if (price(cheapest) >= 0) return true;
    std::vector<int64_t> direction;
    for (int row = 0; row <= rows_; ++row) direction.push_back(at(row, cheapest));
    if (!enter(direction, -1)) return false;
  }
}

bool PackingSimplex::enter(const std::vector<int64_t>& direction, int id) {
  const int leaving = leaving_row(direction);
  if (leaving == 0) return false;
  const int64_t pivot = direction[static_cast<size_t>(leaving)];
  next_ = table_;
  for (int row = 0; row <= rows_; ++row) {
    const int64_t factor = direction[static_cast<size_t>(row)];
    if (row == leaving || (factor == 0 && pivot == denominator_)) continue;
    for (int column = 0; column <= rows_; ++column) {
      const auto value = quotient(
          WideInteger{at(row, column)} * pivot - WideInteger{factor} * at(leaving, column), denominator_);
      if (!fits(value)) return false;
      next_[index(row, column)] = static_cast<int64_t>(value);
    }
  }
  table_.swap(next_);
  denominator_ = pivot;
  basis_[static_cast<size_t>(leaving) - 1] = id;
  return true;
}

/// The row that limits the entering column most; 0: none does, which no column that takes of a row sees.
int PackingSimplex::leaving_row(const std::vector<int64_t>& direction) const {
  int leaving = 0;
  for (int row = 1; row <= rows_; ++row)
    if (direction[static_cast<size_t>(row)] > 0 && (leaving == 0 || is_before(row, leaving, direction)))
      leaving = row;
  return leaving;
}

/// Compares x, then the inverse, each divided by the direction.
bool PackingSimplex::is_before(int a, int b, const std::vector<int64_t>& direction) const {
  const WideInteger of_a = direction[static_cast<size_t>(a)], of_b = direction[static_cast<size_t>(b)];
  const auto compare = [&](int column) { return at(a, column) * of_b - at(b, column) * of_a; };
  if (const WideInteger difference = compare(rows_); difference != 0) return difference < 0;
  for (int column = 0; column != rows_; ++column)
    if (const WideInteger difference = compare(column); difference != 0) return difference < 0;
  return false;
}

std::vector<PackingSimplex::PackedColumn> PackingSimplex::values() const {
  std::vector<PackedColumn> values;
  for (int row = 1; row <= rows_; ++row)
    if (const int id = basis_[static_cast<size_t>(row) - 1]; id >= 0)
      if (const int64_t x = at(row, rows_) / denominator_; x > 0) values.push_back({id, x});
  std::ranges::sort(values, {}, &PackedColumn::id);
  return values;
}

}  // namespace rondo
