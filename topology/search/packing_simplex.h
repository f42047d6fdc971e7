// SPDX-License-Identifier: Apache-2.0
// PackingSimplex: the linear program "as much as possible in all, of columns that share rows", in whole
// numbers:
//
//   maximize sum of x_c   such that   sum over c of amount(row, c) x_c <= capacity(row),   x >= 0
//
// Columns come one at a time, by the prices of the rows: a column whose amounts cost less than one unit makes
// the sum larger, and if there is none, it is the largest (G. B. Dantzig, P. Wolfe, "Decomposition principle
// for linear programs", 1960). The inverse of the basis is kept as whole numbers over one denominator, its
// determinant, by pivots that divide without a remainder (J. Edmonds, "Systems of distinct representatives
// and linear algebra", 1967), and ties are broken lexicographically, so it never cycles.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limit/rational.h"

namespace rondo {

class PackingSimplex {
 public:
  /// Every sum of two prices or units fits into 64 bits.
  static constexpr int64_t kMax = int64_t{1} << 61;

  explicit PackingSimplex(const std::vector<int64_t>& capacities);

  int rows() const { return rows_; }
  /// The price of a row, in the same measure as unit(); at least 0.
  int64_t price(int row) const { return at(0, row); }
  int64_t unit() const { return denominator_; }

  /// Takes a column, whose amounts are by row and which costs less than unit(), and then drops what has
  /// become too expensive. `id` >= 0. False: a number does not fit; the state is that before the last pivot.
  bool add(const std::vector<int64_t>& amounts, int id);

  /// The x of each column with x > 0, rounded down.
  struct PackedColumn {
    int id;
    int64_t x;
  };
  std::vector<PackedColumn> values() const;

 private:
  // Row 0 has the prices and the sum; row i the inverse of the basis, and in its last place x.
  int64_t at(int row, int column) const { return table_[index(row, column)]; }
  size_t index(int row, int column) const {
    return static_cast<size_t>(row) * (static_cast<size_t>(rows_) + 1) + static_cast<size_t>(column);
  }

  bool enter(const std::vector<int64_t>& direction, int id);
  std::optional<std::vector<int64_t>> direction_of(const std::vector<int64_t>& amounts) const;
  bool add_slack_rows();
  int leaving_row(const std::vector<int64_t>& direction) const;
  bool is_before(int a, int b, const std::vector<int64_t>& direction) const;

  int rows_;
  int64_t denominator_ = 1;
  std::vector<int64_t> table_, next_;
  std::vector<int> basis_;  // by row: the column; -1: what is left of some row
};

}  // namespace rondo
