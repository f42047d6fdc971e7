// SPDX-License-Identifier: Apache-2.0
#include "synthesis/forest_algorithm.h"

#include "forest_schedule.h"
#include "synthesis/proved.h"

namespace rondo {

bool has_forest(CollectiveKind kind) { return !traits(kind).is_scan() && kind != CollectiveKind::AllToAll; }

Algorithm forest_algorithm(CollectiveKind kind, std::shared_ptr<const Forest> forest) {
  const auto nranks = static_cast<int>(forest->gpus.size());
  return proved(
      {.name = kForest,
       .kind = kind,
       .summary = "along spanning trees over the machine's links",
       .supports = [forest](const Shape& shape) { return forest_supports(shape, *forest); },
       .build = [forest](const Shape& shape, int rank) { return from_forest(shape, rank, *forest); },
       .max_count = [forest](const Shape& shape) { return forest_slot_chunks(shape, *forest); },
       .parts = [forest](const Shape& shape) { return forest_parts(shape, *forest); }},
      nranks);
}

}  // namespace rondo
