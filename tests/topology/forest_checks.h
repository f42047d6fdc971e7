// SPDX-License-Identifier: Apache-2.0
// What tests of forests share: searches that must succeed, and what every forest has to be.
#pragma once

#include <algorithm>
#include <set>

#include "catch.h"
#include "limit/bound.h"
#include "search/find_forest.h"
#include "search/forest.h"
#include "search/forest_load.h"

namespace rondo::test {

inline ForestLoad load_of(const TopologyGraph& graph, const Forest& forest) {
  const auto load = forest_load(graph, forest);
  REQUIRE(load.status().message() == "");
  return load.value();
}

/// Whether no route leads twice to the same node.
inline bool has_straight_routes(const TopologyGraph& graph, const Forest& forest) {
  for (const Tree& tree : forest.trees) {
    for (const TreeEdge& edge : tree.edges) {
      for (const GpuRoute& route : edge.routes) {
        std::set<int> seen;
        size_t reached = 0;
        for (const Hop& hop : route.hops) {
          std::set<int> ends;
          for (const LinkShare& part : hop) ends.insert(graph.link(part.link).to);
          reached += ends.size();
          seen.insert(ends.begin(), ends.end());
        }
        if (seen.size() != reached) return false;
      }
    }
  }
  return true;
}

/// Searches, and checks that the trees alone say the same as the search: its scale, its bandwidth, and that
/// the bound has room for them.
inline Forest forest_of(const TopologyGraph& graph, std::span<const int> gpus,
                        const ForestOptions& options = {}) {
  const auto found = find_forest(graph, gpus, options);
  REQUIRE(found.status().message() == "");
  const Forest& forest = found.value();
  const ForestLoad load = load_of(graph, forest);
  CHECK(load.scale == forest.scale);
  CHECK(load.bus_kBps == forest.bus_kBps);
  CHECK(std::ranges::equal(forest.gpus, gpus));
  CHECK(std::ranges::is_sorted(forest.trees, {}, &Tree::root));
  CHECK(has_straight_routes(graph, forest));
  CHECK(forest.k >= 1);
  CHECK(forest.k <= options.max_k);
  const auto bound = bandwidth_bound(graph, gpus, CollectiveKind::AllGather);
  REQUIRE(bound.ok());
  CHECK(forest.bus_kBps <= bound.value().ceiling);
  if (bound.value().kind == BoundKind::Exact) CHECK(forest.bus_kBps <= bound.value().bus);
  return forest;
}

inline Forest forest_of(const TopologyGraph& graph, const ForestOptions& options = {}) {
  return forest_of(graph, graph.gpus(), options);
}

/// Whether a is at least `thousandths` / 1000 of b.
inline bool reaches(const Rational& a, const Rational& b, int thousandths) {
  return WideInteger{a.numerator()} * 1000 * b.denominator() >=
         WideInteger{b.numerator()} * thousandths * a.denominator();
}

}  // namespace rondo::test
