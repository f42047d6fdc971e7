// SPDX-License-Identifier: Apache-2.0
// Inputs of the schedule tests: every row of the table with every shape that it supports.
#pragma once

#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "schedule/schedule.h"

namespace rondo {

/// 1, and all group lengths that give several equal groups of several ranks.
inline std::vector<int> group_lengths(int nranks) {
  std::vector<int> lengths = {1};
  for (int length = 2; length < nranks; ++length)
    if (nranks % length == 0) lengths.push_back(length);
  return lengths;
}

/// Every combination of root, commutativity, varying form and group length (if relevant) that the kind has
/// and the algorithm supports.
inline std::vector<Shape> supported_shapes(const Algorithm& algorithm, int nranks) {
  const CollectiveKind kind = algorithm.kind;
  std::vector<Shape> shapes;
  for (int root = 0; root < (has_root(kind) ? nranks : 1); ++root)
    for (bool varying : {false, true})
      for (bool commutative : {true, false}) {
        if ((varying && !traits(kind).has_blocks()) || (!commutative && !reduces(kind))) continue;
        for (int group : group_lengths(nranks)) {
          const Shape shape{kind, nranks, root, varying, commutative, group};
          if (!algorithm.supports(shape)) continue;
          shapes.push_back(shape);
          if (group == 1) break;
        }
      }
  return shapes;
}

inline std::vector<Schedule> build_all(const Algorithm& algorithm, const Shape& shape) {
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < shape.nranks; ++rank) ranks.push_back(algorithm.build(shape, rank));
  return ranks;
}

inline std::string name_of(const Algorithm& algorithm) {
  return std::string(collective_name(algorithm.kind)) + "/" + algorithm.name;
}

inline std::string to_string(const Shape& shape) {
  return std::string(collective_name(shape.kind)) + " n=" + std::to_string(shape.nranks) +
         " root=" + std::to_string(shape.root) + (shape.varying ? " varying" : "") +
         (shape.commutative ? "" : " not commutative") +
         (shape.group == 1 ? "" : " groups of " + std::to_string(shape.group));
}

}  // namespace rondo
