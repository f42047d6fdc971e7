// SPDX-License-Identifier: Apache-2.0
#include "pool_shares.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rondo {
namespace {

constexpr WideInteger kMaxValue = WideInteger{1} << 50;  // products fit WideInteger, sums of shares int64_t

using Row = std::vector<WideInteger>;

WideInteger sum(const Row& row) { return std::accumulate(row.begin(), row.end(), WideInteger{0}); }

WideInteger common_divisor(WideInteger a, WideInteger b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

bool proportional(const Row& a, const Row& b) {
  const WideInteger all_a = sum(a), all_b = sum(b);
  for (size_t i = 0; i != a.size(); ++i)
    if (a[i] * all_b != b[i] * all_a) return false;
  return true;
}

class PoolShares {
 public:
  PoolShares(const Pool& pool, const Rational& scale)
      : sends_(multiplied(pool.sends, scale.numerator())),
        receives_(multiplied(pool.receives, scale.numerator())),
        weights_(multiplied(pool.weights, scale.denominator())),
        shares_(pool.weights.size(), std::vector<std::vector<int64_t>>(pool.weights.size())) {
    for (size_t i = 0; i != pool.weights.size(); ++i) left_.push_back(i);
  }

  std::optional<Table<std::vector<int64_t>>> run() {
    while (!left_.empty()) {
      if (!normalize()) return std::nullopt;
      if (all_proportional()) {
        for (const size_t from : left_)
          for (const size_t to : left_) set_share(from, to, sends_[from]);
        return shares_;
      }
      const size_t next = tightest();
      std::erase(left_, next);
      if (!spread(next, true) || !normalize() || !spread(next, false)) return std::nullopt;
    }
    return shares_;
  }

 private:
  static Table<WideInteger> multiplied(const Table<int64_t>& table, int64_t factor) {
    Table<WideInteger> result;
    for (const std::vector<int64_t>& row : table) {
      result.emplace_back();
      for (const int64_t value : row) result.back().push_back(WideInteger{value} * factor);
    }
    return result;
  }

  /// Divides everything by what it has in common; false: numbers have become too large.
  bool normalize() {
    WideInteger common = 0, largest = 0;
    for_each_value([&](WideInteger& value) {
      common = common_divisor(common, value);
      largest = std::max(largest, value);
    });
    if (common > 1) for_each_value([&](WideInteger& value) { value /= common; });
    return common == 0 || largest / common < kMaxValue;
  }

  template <typename Visit>
  void for_each_value(Visit visit) {
    for (Table<WideInteger>* table : {&sends_, &receives_, &weights_})
      for (Row& row : *table)
        for (WideInteger& value : row) visit(value);
  }

  bool all_proportional() const {
    Row all(sends_[0].size());
    for (const size_t node : left_)
      for (size_t i = 0; i != all.size(); ++i) all[i] += sends_[node][i] + receives_[node][i];
    return std::ranges::all_of(left_, [&](size_t node) {
      return proportional(sends_[node], all) && proportional(receives_[node], all);
    });
  }

  /// The neighbour that uses the largest part of what is left of its links.
  size_t tightest() const {
    size_t best = left_[0];
    WideInteger best_used = 0, best_room = 1;
    for (const size_t i : left_) {
      for (const bool sending : {true, false}) {
        const WideInteger room = sum(sending ? sends_[i] : receives_[i]);
        WideInteger used = 0;
        for (const size_t other : left_) used += sending ? weights_[i][other] : weights_[other][i];
        if (used * best_room <= best_used * room) continue;
        best = i;
        best_used = used;
        best_room = room;
      }
    }
    return best;
  }

  /// Spreads what a neighbour exchanges with those that are left; false: these have not enough for it.
  bool spread(size_t node, bool sending) {
    const Row by = sending ? sends_[node] : receives_[node];
    const WideInteger all = sum(by);
    if (all == 0) return true;  // nothing comes or goes this way
    for_each_value([&](WideInteger& value) { value *= all; });
    for (const size_t other : left_) {
      sending ? set_share(node, other, by) : set_share(other, node, by);
      const WideInteger weight = (sending ? weights_[node][other] : weights_[other][node]) / all;
      Row& rest = sending ? receives_[other] : sends_[other];
      for (size_t i = 0; i != rest.size(); ++i)
        if ((rest[i] -= weight * by[i]) < 0) return false;
    }
    return true;
  }

  void set_share(size_t from, size_t to, const Row& by) {
    const WideInteger common = std::accumulate(by.begin(), by.end(), WideInteger{0}, common_divisor);
    for (const WideInteger value : by)
      shares_[from][to].push_back(common == 0 ? 0 : static_cast<int64_t>(value / common));
  }

  Table<WideInteger> sends_, receives_;
  Table<WideInteger> weights_;
  Table<std::vector<int64_t>> shares_;
  std::vector<size_t> left_;
};

}  // namespace

std::optional<Table<std::vector<int64_t>>> pool_shares(const Pool& pool, const Rational& scale) {
  return PoolShares(pool, scale).run();
}

}  // namespace rondo
