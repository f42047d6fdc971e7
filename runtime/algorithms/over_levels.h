// SPDX-License-Identifier: Apache-2.0
// Algorithms over levels (schedule/levels.h): what a rank's group can do stays within the group, and any
// algorithm connects it with its counterparts in the other groups, which may lie in levels in turn.
//
//     all_reduce        in each group a reduce-scatter; between groups an all-reduce; in each an all-gather
//     reduce_scatter    in each group a reduce-scatter of what goes to each; between groups a reduce-scatter
//     all_gather        between groups an all-gather; in each group one of what has come from each
//     broadcast         in the root's group a scatter; between groups broadcasts; in each an all-gather
//     reduce            in each group a reduce-scatter; between groups reductions; in the root's a gather
//     all_to_all        in each group an all-to-all by the destination's place; between groups an all-to-all
//     scan, exscan      in each group the scan of a share at each place; between groups an exscan of their
//                       totals; in each group what they add up to goes to each rank
//
// Rank p of a group handles the p-th share of all data between groups, so that all NICs of a host are used,
// and a rank never has a connection to another place of another group. Shares are equal, each block that of
// its own rank, or as large as Shape::weights says. The blocks of a group are then divided as if they were
// one vector, and make as many calls between groups as a share has runs of them:
//
//     3 ranks a group, weights 1:1:2, blocks of 4 parts:     0 0 0 1 | 1 1 2 2 | 2 2 2 2
//
// An all_gather goes to all ranks of the own group first, as any of them may carry a part of any block; and
// in a reduce_scatter places hand over to the others what they have of their blocks.
//
// Hosts that differ in size have as many places as the smallest has ranks; their other ranks only send to
// those, and receive from them. (The levels of HAN: X. Luo et al., HAN: a Hierarchical AutotuNed Collective
// Communication Framework, CLUSTER 2020.)
#pragma once

#include "algorithms/algorithm.h"

namespace rondo {

/// The row with that algorithm, of the same kind, between the largest groups. Within groups all ranks
/// exchange directly. Any thread.
Algorithm over_levels(const char* name, const char* summary, const Algorithm& across);
/// Of another kind than the algorithm between groups: a scan, by an exscan.
Algorithm over_levels(CollectiveKind kind, const char* name, const char* summary, const Algorithm& across);

}  // namespace rondo
