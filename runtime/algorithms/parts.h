// Small arithmetic that several algorithms share. Pure functions: any thread.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace rondo {

/// The smallest k with 2^k >= n, and the largest with 2^k <= n (n >= 1).
int ceil_log2(int n);
int floor_log2(int n);

/// `value` modulo n, never negative.
inline int wrap(int value, int n) { return ((value % n) + n) % n; }

/// Of a rank on average, where each but one sends a vector to another once, as up or down a tree.
Work vector_each(const Shape& shape);
/// The same where it sends one vector to several, and where each passes on what it has just received or
/// computed: then all that is sent is warm, but the first vector on its way.
Work warm_each(const Shape& shape);
Work relayed_each(const Shape& shape);
/// The same where each vector is also added to another.
Work fold_each(const Shape& shape);

/// Of the volume of a ring of n ranks, in which all but a rank's first n-th is passed on, what is warm.
double relayed_around(double n, double volume);

/// 0, 1, ... n - 1: a fold of all ranks in their order.
std::vector<int> all_ranks(int n);

/// rank + 1, rank + 2, ... around to rank - 1: so that the ranks of a phase do not all send to one at once.
std::vector<int> others_after(int n, int rank);

/// rank + 1, ... n - 1.
std::vector<int> ranks_above(int n, int rank);

/// Whether n ranks and that many Steps in a lane fit the 16 bits that a Step has for each.
bool fits(const Shape& shape, int steps);

}  // namespace rondo
