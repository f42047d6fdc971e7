// SPDX-License-Identifier: Apache-2.0
#include "synthesis/found_time.h"

#include <algorithm>
#include <string_view>

#include "synthesis/forest_algorithm.h"

namespace rondo {

Result<PlanTime> time_on_links(const RanksOfMachine& ranks, const Algorithm& algorithm, const Shape& shape,
                               double bytes, int tiles, double latency_s, int slots) {
  RONDO_TRY_ASSIGN(const FoundForest found, found_forest(ranks));
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < shape.nranks; ++rank) schedules.push_back(algorithm.build(shape, rank));
  const bool follows = std::string_view(algorithm.name) == kForest;
  RONDO_TRY_ASSIGN(const PlanNetwork network,
                   links_network(found.links, found.forest.gpus, shape, schedules,
                                 follows ? &found.forest : nullptr, latency_s, slots));
  return plan_time(shape, schedules, bytes, tiles, network);
}

}  // namespace rondo
