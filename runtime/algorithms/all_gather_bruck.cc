// SPDX-License-Identifier: Apache-2.0
// Bruck's all-gather: in each round a rank sends all blocks it has, to a rank twice as far away as before.
//
//     5 ranks:   round 1 (distance 1)   r gets block r+1 from rank r+1         has r, r+1
//                round 2 (distance 2)   r gets blocks r+2, r+3 from rank r+2   has r .. r+3
//                round 3 (distance 4)   r gets block r+4 from rank r+4         has all
//
// ceil(log2 n) rounds for any n, and minimal volume. Chunks have names, so no final rotation is needed; a run
// of blocks that wraps past the last rank is sent as two messages. (J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal,
// D. Weathersby, Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems,
// TPDS 1997.)
#include <algorithm>

#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::all_gather_bruck {
namespace {

bool supports(const Shape& shape) { return fits(shape, 4 * ceil_log2(shape.nranks) + 1); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {static_cast<double>(ceil_log2(shape.nranks)), (n - 1) / n};
}

struct BlockRun {
  int first;
  int count;
};

/// `count` blocks from `first` on, modulo n, as one or two runs of consecutive chunks.
std::vector<BlockRun> block_runs(int first, int count, int n) {
  const int before_end = std::min(count, n - first);
  if (before_end == count) return {{first, count}};
  return {{first, before_end}, {0, count - before_end}};
}

int max_count(const Shape& shape) { return std::max(1, shape.nranks / 2); }

Schedule build(const Shape& shape, int rank) {
  const int n = shape.nranks;
  Schedule schedule(shape, rank);
  schedule.slot_chunks = max_count(shape);
  schedule.add({.src = input(0), .dst = output(rank)});
  for (int distance = 1; distance < n; distance *= 2) {
    const int count = std::min(distance, n - distance);
    const int to = wrap(rank - distance, n);
    const int from = wrap(rank + distance, n);
    for (const BlockRun& run : block_runs(rank, count, n))
      schedule.add({.src = output(run.first), .send = {to}, .count = run.count});
    for (const BlockRun& run : block_runs(from, count, n))
      schedule.add({.recv = {from}, .dst = output(run.first), .count = run.count});
  }
  return schedule;
}

}  // namespace

Algorithm row() {
  return {.name = "bruck",
          .kind = CollectiveKind::AllGather,
          .summary = "all blocks a rank has, to a rank twice as far each round (Bruck et al.)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .max_count = max_count,
          .connects_up_and_down = true};
}

}  // namespace rondo::all_gather_bruck
