// SPDX-License-Identifier: Apache-2.0
// Inputs of the schedule tests: every row of the table with every shape that it supports.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "schedule/schedule.h"

namespace rondo {

/// No levels; one level, of every size that gives several equal groups of several ranks; two levels, all
/// pairs of such sizes; a few combinations of three and four. With more than 16 ranks one size and one pair.
inline std::vector<Levels> levels_of(int nranks) {
  std::vector<Levels> singles, pairs;
  for (int size = 2; size < nranks; ++size) {
    if (Levels(size).divide(nranks)) singles.emplace_back(size);
    for (int outer = 2 * size; outer < nranks; outer += size)
      if (Levels{size, outer}.divide(nranks)) pairs.push_back({size, outer});
  }
  std::vector<Levels> all = {Levels()};
  for (const Levels& levels : {Levels{2, 4, 8}, Levels{2, 6, 12}, Levels{2, 4, 8, 16}})
    if (nranks <= 48 && levels.divide(nranks)) all.push_back(levels);
  for (const auto& levels : {singles, pairs})
    for (size_t i = 0; i < levels.size(); ++i)
      if (nranks <= 16 || i == static_cast<size_t>(nranks) % levels.size()) all.push_back(levels[i]);
  return all;
}

/// Sizes of hosts that differ: a small last one, a small first one, two and three in turn. With more than 16
/// ranks one of these.
inline std::span<const std::vector<int>> hosts_of(int nranks) {
  static const auto all = [] {
    std::array<std::vector<std::vector<int>>, 65> made;
    for (int n = 3; n < static_cast<int>(made.size()); ++n) {
      std::vector<int> first = {1}, last, in_turn;
      for (int left = n - 1; left > 0; left -= 8) first.push_back(std::min(left, 8));
      last.assign(first.rbegin(), first.rend());
      for (int left = n; left > 0; left -= in_turn.back())
        in_turn.push_back(std::min(left, in_turn.size() % 2 == 0 ? 2 : 3));
      auto& ways = made[static_cast<size_t>(n)];
      ways = {first, last, in_turn};
      if (n > 16) ways = {ways[static_cast<size_t>(n) % ways.size()]};
    }
    return made;
  }();
  if (nranks >= static_cast<int>(all.size())) return {};
  return all[static_cast<size_t>(nranks)];
}

/// Weights of that many places, by their number: those of unequal NICs, one place with most, common divisors.
inline std::span<const int> weights_of(int places) {
  static const auto all = [] {
    std::array<std::vector<int>, 33> made;
    for (size_t n = 2; n < made.size(); ++n)
      for (size_t place = 0; place < n; ++place)
        made[n].push_back(n % 3 == 0   ? (place + 1 == n ? 2 : 1)
                          : n % 3 == 1 ? (place == 0 ? 3 : 2)
                                       : 2 + 2 * static_cast<int>(place % 2));
    return made;
  }();
  if (places < 2 || places >= static_cast<int>(all.size())) return {};
  return all[static_cast<size_t>(places)];
}

/// How many places the largest groups have, or the smallest host.
inline int places_of(const Shape& shape) {
  return shape.hosts.empty() ? shape.levels.outermost() : *std::ranges::min_element(shape.hosts);
}

/// The same with weights, if it has any.
inline void add_weighted(const Algorithm& algorithm, Shape shape, std::vector<Shape>& shapes) {
  shape.weights = weights_of(places_of(shape));
  if (algorithm.supports(shape) && algorithm.has_shares(shape)) shapes.push_back(shape);
}

/// Every combination of root, commutativity, varying form, groups and weights (if relevant) that the kind has
/// and the algorithm supports.
inline std::vector<Shape> supported_shapes(const Algorithm& algorithm, int nranks) {
  const CollectiveKind kind = algorithm.kind;
  std::vector<Shape> shapes;
  for (int root = 0; root < (has_root(kind) ? nranks : 1); ++root)
    for (bool varying : {false, true})
      for (bool commutative : {true, false}) {
        if ((varying && !traits(kind).has_blocks()) || (!commutative && !reduces(kind))) continue;
        for (const Levels& levels : levels_of(nranks)) {
          const Shape shape{kind, nranks, root, varying, commutative, levels};
          if (!algorithm.supports(shape)) continue;
          shapes.push_back(shape);
          add_weighted(algorithm, shape, shapes);
          if (levels.empty()) break;
        }
        if (!algorithm.for_groups) continue;
        for (const std::vector<int>& hosts : hosts_of(nranks)) {
          const Shape shape{kind, nranks, root, varying, commutative, {}, {}, hosts};
          if (!algorithm.supports(shape)) continue;
          shapes.push_back(shape);
          add_weighted(algorithm, shape, shapes);
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
  std::string groups;
  for (int level = 0; level < shape.levels.count(); ++level)
    groups += (level == 0 ? " groups of " : ", ") + std::to_string(shape.levels.size(level));
  for (const int host : shape.hosts) groups += (groups.empty() ? " hosts of " : ", ") + std::to_string(host);
  for (size_t place = 0; place < shape.weights.size(); ++place)
    groups += (place == 0 ? " of weights " : ":") + std::to_string(shape.weights[place]);
  return std::string(collective_name(shape.kind)) + " n=" + std::to_string(shape.nranks) +
         " root=" + std::to_string(shape.root) + (shape.varying ? " varying" : "") +
         (shape.commutative ? "" : " not commutative") + groups;
}

}  // namespace rondo
