// SPDX-License-Identifier: Apache-2.0
#include "algorithms/ordered.h"

#include <algorithm>
#include <cassert>

namespace rondo {

Schedule build_in_order(const Algorithm& algorithm, const Shape& shape, int rank,
                        const std::vector<int>& order) {
  assert(is_free_in_order(shape.kind));
  const auto place = [&order](int of) {
    return static_cast<int>(std::find(order.begin(), order.end(), of) - order.begin());
  };
  Shape by_place = shape;
  by_place.root = place(shape.root);
  Schedule schedule = algorithm.build(by_place, place(rank));
  schedule.rank = rank;
  for (auto& set : schedule.peer_sets)
    for (uint16_t& peer : set) peer = static_cast<uint16_t>(order[peer]);
  return schedule;
}

}  // namespace rondo
