// SPDX-License-Identifier: Apache-2.0
// Exchanges between the halves of a set of ranks: a reduce-scatter that starts with all of them, and an
// all-gather that ends with all of them, for any number of ranks. Pure functions: any thread.
//
//     6 ranks:   0 1 2 | 3 4 5      0 ◄─► 3    1 ◄─► 4    2 ◄─► 5          each rank hands over the blocks
//                0 1 | 2            0 ◄─► 2    1  ─► 2 (1 gets none)       of the other half's ranks, and
//                0 | 1              0 ◄─► 1                                adds what it gets for its own
//
// A rank faces the one at its place in the other half. If one half is longer, its last rank hands over to the
// last of the other half, which thus receives from two, and in the all-gather sends to both. Only powers of
// two have minimal volume; other numbers cost at most half as much again.
//
// The halves are those of a binomial tree (knomial_tree.h), so this combines well with a scatter or gather.
#pragma once

#include <vector>

#include "knomial_tree.h"

namespace rondo {

/// One round, as one rank sees it.
struct Halves {
  int leader = 0;  // of the whole set
  Branch own;      // the rank's half
  Branch other;
  int across = 0;             // the rank of the other half that receives this rank's data for it
  std::vector<int> opposite;  // the ranks of the other half that face this one: none, one or two
};

/// From the whole set down to a set of two ranks, or of three in which this rank is alone in its half.
std::vector<Halves> halves_of(const Shape& shape, int rank);

/// With one chunk per rank: folds this rank's chunk of all Inputs, finished, into `result`. Partial folds are
/// kept in `hold`, chunk by chunk.
void add_halving(Schedule& schedule, const Shape& shape, Buffer hold, Ref result);

/// With one chunk per rank: each rank has its own in Output and receives all others. SubtreeChunks, after a
/// scatter down the binomial tree: the leader of every set already has all its chunks, and is sent none.
enum class Held { OwnChunk, SubtreeChunks };
void add_doubling(Schedule& schedule, const Shape& shape, Held held);

// The following hold for either exchange.

/// The number of consecutive rounds: if a half is longer, its last rank need not wait.
double halving_rounds(const Shape& shape);

/// The volume that the busiest rank receives, in vectors of n chunks.
double exchanged_vectors(const Shape& shape);

/// The messages that a rank sends on average: one in each round in which it takes part.
double mean_exchanges(const Shape& shape);

/// The maximum number of chunks in a message.
int max_exchanged(const Shape& shape);

/// An upper bound on the number of Steps.
int halving_steps(const Shape& shape);

}  // namespace rondo
