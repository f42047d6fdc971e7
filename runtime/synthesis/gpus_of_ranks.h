// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a communicator are on their host. Pure function: any thread.
#pragma once

#include <vector>

#include "synthesis/found_plans.h"

namespace rondo {

struct GpusOfRanks {
  TopologyGraph graph;    // of the host
  std::vector<int> gpus;  // nodes, by rank
};

/// The GPU of each rank: its own or, if no rank has one, as many as there are ranks, in their order. Errors
/// as of FoundPlans::find().
Result<GpusOfRanks> gpus_of_ranks(const RanksOfMachine& ranks);

/// A description is this rank's own: unlike a call that no rank can make, what is wrong with it fails the
/// communicator, so that the others do not wait.
Status of_this_rank(const Status& status);

}  // namespace rondo
