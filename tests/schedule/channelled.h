// SPDX-License-Identifier: Apache-2.0
// Algorithms in channels, for tests of whatever runs Schedules.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/algorithm.h"
#include "schedule/relabelled.h"
#include "schedule/spread.h"

namespace rondo {

/// The algorithm in several channels, each in a random order of the ranks unless one is prescribed. Its
/// shapes are those that may_spread() allows.
inline Algorithm channelled(const Algorithm& algorithm, int channels, uint64_t seed) {
  Algorithm made = algorithm;
  made.supports = [algorithm](const Shape& shape) {
    return algorithm.supports(shape) && may_spread(shape, algorithm.max_count(shape));
  };
  made.parts = [algorithm, channels](const Shape& shape) { return channels * algorithm.parts(shape); };
  made.build = [algorithm, channels, seed](const Shape& shape, int rank) {
    std::mt19937_64 random(seed);
    std::vector<Schedule> all;
    for (int c = 0; c < channels; ++c) {
      std::vector<int> order(static_cast<size_t>(shape.nranks));
      std::iota(order.begin(), order.end(), 0);
      if (may_relabel(shape, algorithm.max_count(shape))) {
        std::shuffle(order.begin(), order.end(), random);
        all.push_back(build_in_order(algorithm, shape, rank, order));
      } else {
        all.push_back(algorithm.build(shape, rank));
      }
    }
    return spread(shape, all);
  };
  return made;
}

}  // namespace rondo
