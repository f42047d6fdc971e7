// SPDX-License-Identifier: Apache-2.0
// The choice of k, the number of trees a root, and of their scale U: in U seconds a link of b kB/s carries
// floor(U b) whole kB, one for each tree that crosses it. k trees give each root k / U kB/s, at most the
// exact bound x*, and give x* if U = k / x* makes U b whole on every link that matters. Capacities change
// only where some U b becomes whole: the least U for a k is k / x* or a multiple of some 1 / b, found by
// bisection.
#pragma once

#include <optional>

#include "gather_network.h"

namespace rondo {

struct ForestSize {
  int64_t k = 1;
  Rational scale;  // U

  /// k / U: the rate of each root, in kB/s.
  Rational rate() const;
};

/// The lowest k <= max_k whose rate is the bound or misses it by less than 0.1%; if there is none, one that
/// no other k outdoes by 0.1%. Only rates that exceed `known` by 0.1% count. Nothing: there is none, or the
/// limit was reached before one was found.
std::optional<ForestSize> best_size(const CompactGraph& graph, const Rational& bound, const Rational& known,
                                    int64_t max_k, WorkLimit& limit);

}  // namespace rondo
