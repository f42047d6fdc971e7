// Exchanges between the halves of a set of ranks: a reduce-scatter that starts with all of them, and an
// all-gather that ends with all of them, for any number of ranks. Pure functions: any thread.
//
//     6 ranks:   0 1 2 | 3 4 5      0 ◄─► 3    1 ◄─► 4    2 ◄─► 5          each rank hands over the blocks
//                0 1 | 2            0 ◄─► 2    1  ─► 2 (1 gets none)       of the other half's ranks, and
//                0 | 1              0 ◄─► 1                                adds what it gets for its own
//
// A rank faces the one at its place in the other half. Where one half is longer, its last rank hands over to
// the last of the other half, which so gets two, and which in the all-gather sends to both. Only powers of
// two have the least volume possible; no other number costs more than half as much again.
//
// The halves are those of a binomial tree (knomial_tree.h), so what starts or ends as one goes well with it.
#pragma once

#include <vector>

#include "knomial_tree.h"

namespace rondo {

/// One round, as one rank sees it.
struct Halves {
  int leader = 0;  // of the whole set
  Branch own;      // the rank's half
  Branch other;
  int across = 0;             // the rank of the other half that gets what that half needs from this one
  std::vector<int> opposite;  // those of the other half that face this one: one, or two, or none
};

/// From the whole set down to one of two ranks, or of three of which this one is alone in its half.
std::vector<Halves> halves_of(const Shape& shape, int rank);

/// A chunk for each rank: folds the own one of all ranks' Inputs, finished, into `result`. What comes before
/// that lies in `hold`, chunk by chunk.
void add_halving(Schedule& schedule, const Shape& shape, Buffer hold, Ref result);

/// A chunk for each rank: all who have the own one in Output get all of them there. After a scatter down the
/// binomial tree the leader of every set has all of the set's, and is sent none.
enum class Held { OwnChunk, SubtreeChunks };
void add_doubling(Schedule& schedule, const Shape& shape, Held held);

/// How many rounds follow on one another, of either: where a half is longer, its last rank need not wait.
double halving_rounds(const Shape& shape);

/// What the busiest rank receives, of either, in vectors of n chunks.
double exchanged_vectors(const Shape& shape);

/// The messages that a rank sends on average, of either: one in each round that it takes part in.
double mean_exchanges(const Shape& shape);

/// The most chunks of a message.
int most_exchanged(const Shape& shape);

/// Steps enough for either.
int halving_steps(const Shape& shape);

}  // namespace rondo
