// SPDX-License-Identifier: Apache-2.0
// Algorithms over levels (schedule/levels.h): what a rank's group can do stays within the group, and any
// algorithm connects it with its counterparts in the other groups, which may lie in levels in turn.
//
//     all_reduce        reduce-scatter in each group, all-reduce between groups, all-gather in each
//     reduce_scatter    reduce-scatter in each group of what goes to each group, reduce-scatter between
//     groups all_gather        all-gather between groups, all-gather in each of what has come from each group
//     broadcast         scatter in the root's group, broadcasts between groups, all-gather in each
//     reduce            reduce-scatter in each group, reductions between groups, gather in the root's group
//     all_to_all        all-to-all in each group, by place of the destination; all-to-all between groups
//
// Rank p of a group handles the p-th share of all data between groups, so that each NIC of a host carries an
// equal share, and a rank never has a connection to another place of another group. (The levels of HAN: X.
// Luo et al., HAN: a Hierarchical AutotuNed Collective Communication Framework, CLUSTER 2020.)
#pragma once

#include "algorithms/algorithm.h"

namespace rondo {

/// The row with that algorithm, of the same kind, between the largest groups. Within groups all ranks
/// exchange directly. Any thread.
Algorithm over_levels(const char* name, const char* summary, const Algorithm& across);

}  // namespace rondo
