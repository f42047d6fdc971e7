// SPDX-License-Identifier: Apache-2.0
#include "forest_size.h"

#include <functional>
#include <set>

#include "balance.h"

namespace rondo {
namespace {

/// Of numbers that fit: find_forest() limits bandwidths to 50 bits.
Rational fraction(WideInteger numerator, WideInteger denominator) {
  return Rational::of(numerator, denominator).value();
}

int64_t floor_product(const Rational& scale, int64_t kBps) {
  return static_cast<int64_t>(WideInteger{scale.numerator()} * kBps / scale.denominator());
}

/// The least scale for one k.
class ScaleSearch {
 public:
  ScaleSearch(const CompactGraph& graph, const Rational& bound, int64_t k, WorkLimit& limit)
      : graph_(graph),
        network_(graph, limit),
        k_(k),
        low_(fraction(WideInteger{k} * bound.denominator(), bound.numerator())),
        limit_(limit) {}

  /// If it is at most that at which k trees are 0.1% faster than `known`.
  std::optional<Rational> run(const Rational& known) {
    if (known.numerator() > 0) {
      high_ = fraction(WideInteger{k_} * known.denominator() * 1000, WideInteger{known.numerator()} * 1001);
      if (high_ < low_ || !fits(high_)) return std::nullopt;
    }
    if (fits(low_)) return low_;
    if (known.numerator() == 0 && !find_high()) return std::nullopt;
    for (const int64_t kBps : bandwidths())
      if (!limit_.over()) lower_to_multiple(kBps);
    return high_;
  }

 private:
  bool fits(const Rational& scale) {
    network_.set_scale(scale, k_);
    return balance(network_);
  }

  bool find_high() {
    for (int64_t eighths = 1; eighths <= int64_t{1} << 36 && !limit_.over(); eighths *= 2) {
      high_ = fraction(WideInteger{low_.numerator()} * (8 + eighths), WideInteger{low_.denominator()} * 8);
      if (fits(high_)) return true;
    }
    return false;
  }

  /// Descending: the widest link has the closest multiples, after which few of the others are left. Not of
  /// links that never limit.
  std::set<int64_t, std::greater<>> bandwidths() const {
    std::set<int64_t, std::greater<>> found;
    for (const CompactEdge& edge : graph_.edges)
      if (floor_product(low_, edge.kBps) < k_ * graph_.gpus) found.insert(edge.kBps);
    return found;
  }

  /// Lowers high_ to the least multiple of 1 / kBps above low_ that fits.
  void lower_to_multiple(int64_t kBps) {
    int64_t misfit = floor_product(low_, kBps);
    int64_t fit = floor_product(high_, kBps);
    if (fraction(fit, kBps) == high_) --fit;
    if (fit <= misfit || !fits(fraction(fit, kBps))) return;
    while (fit - misfit > 1 && !limit_.over()) {
      const int64_t middle = misfit + (fit - misfit) / 2;
      (fits(fraction(middle, kBps)) ? fit : misfit) = middle;
    }
    high_ = fraction(fit, kBps);
  }

  const CompactGraph& graph_;
  GatherNetwork network_;
  const int64_t k_;
  const Rational low_;
  Rational high_;
  WorkLimit& limit_;
};

}  // namespace

Rational ForestSize::rate() const {
  return fraction(WideInteger{k} * scale.denominator(), scale.numerator());
}

std::optional<ForestSize> best_size(const CompactGraph& graph, const Rational& bound, const Rational& known,
                                    int64_t max_k, WorkLimit& limit) {
  std::optional<ForestSize> best;
  for (int64_t k = 1; k <= max_k && !limit.over(); ++k) {
    const auto scale = ScaleSearch(graph, bound, k, limit).run(best ? best->rate() : known);
    if (scale) best = {k, *scale};
  }
  return best;
}

}  // namespace rondo
