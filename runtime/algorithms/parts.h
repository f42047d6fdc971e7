// SPDX-License-Identifier: Apache-2.0
// Small arithmetic that several algorithms share. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/algorithm.h"
#include "schedule/schedule.h"

namespace rondo {

/// The smallest k with 2^k >= n, and the largest with 2^k <= n (n >= 1).
int ceil_log2(int n);
int floor_log2(int n);

/// `value` modulo n, never negative.
inline int wrap(int value, int n) { return ((value % n) + n) % n; }

/// The average work of a rank if all but one send a vector once, as up or down a tree.
CpuWork vector_each(const Shape& shape);
/// The same if all data sent is warm because one rank sends one vector to several (warm_each), or all but the
/// first vector because each rank forwards data that it has just received or computed (relayed_each).
CpuWork warm_each(const Shape& shape);
CpuWork relayed_each(const Shape& shape);
/// The same if each vector is also added to another.
CpuWork fold_each(const Shape& shape);

/// The warm part of the volume in a ring of n ranks: all but a rank's first n-th is forwarded.
double relayed_around(double n, double volume);

/// 0, 1, ... n - 1: a fold of all ranks in rank order.
std::vector<int> all_ranks(int n);

/// rank + 1, rank + 2, ... around to rank - 1, so that ranks do not all send to the same one at once.
std::vector<int> others_after(int n, int rank);

/// rank + 1, ... n - 1.
std::vector<int> ranks_above(int n, int rank);

/// Whether that many Steps in a lane, and the chunks of blocks of that many parts, fit in the 16 bits that a
/// Step has for them.
bool fits(const Shape& shape, int64_t steps, int64_t parts = 1);

/// Adds a relay around a ring: one fused Step, except at rank 0, where it is two, with the value kept at
/// `hold` in between (which is where the relay stores it, if it does).
///
/// Every rank of a ring starts with a message of its own. If each connection had a single slot, all slots
/// would then be full and no fused Step could run, since it receives and sends at once. Rank 0 therefore
/// takes a message out of the ring first, so that the others always find a free slot.
void add_ring_relay(Schedule& schedule, const Move& relay, Ref hold);

}  // namespace rondo
