// SPDX-License-Identifier: Apache-2.0
// Schedules that move data along the trees of a Forest: every collective but scans and all-to-all. Pure
// functions: any thread.
//
//   all_gather      root r's block has k parts; each of its trees carries as many of them as it weighs down
//   reduce_scatter  the same up, folding on the way
//   all_reduce      the vector has n k parts: r's are parts r k to r k + k - 1, up and down r's trees
//   broadcast, reduce, gather, scatter     along the root's trees alone
//   barrier                                up and down the first tree
#pragma once

#include "schedule/schedule.h"
#include "search/forest.h"

namespace rondo {

/// Whether from_forest() has a Schedule of that shape: not if operands have to be combined in rank order, nor
/// for gather_v and scatter_v, in which ranks would pass on blocks whose lengths they do not know.
bool forest_supports(const Shape& shape, const Forest& forest);

/// Chunks::parts and slot_chunks of every rank's Schedule.
int forest_parts(const Shape& shape, const Forest& forest);
int forest_slot_chunks(const Shape& shape, const Forest& forest);

/// The Schedule of a rank. Lanes are those of the trees, by root; of each tree the one up before the one
/// down. Trees share lanes if there would be more than kMaxPlanLanes. Requires forest_supports().
Schedule from_forest(const Shape& shape, int rank, const Forest& forest);

}  // namespace rondo
