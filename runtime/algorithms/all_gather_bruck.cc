// Bruck's all-gather: in each round a rank passes on all the blocks that it has, to a rank twice as far away.
//
//     5 ranks:   round 1 (distance 1)   r gets block r+1 of rank r+1         has r, r+1
//                round 2 (distance 2)   r gets blocks r+2, r+3 of rank r+2   has r .. r+3
//                round 3 (distance 4)   r gets block r+4 of rank r+4         has all
//
// ceil(log2 n) rounds for any n, and the least volume possible. Chunks have names, so no final rotation is
// needed; a run of blocks that goes past the last rank is sent as two messages. (J. Bruck, C.-T. Ho, S.
// Kipnis, E. Upfal, D. Weathersby, Efficient Algorithms for All-to-All Communications in Multiport
// Message-Passing Systems, TPDS 1997.)
#include <algorithm>

#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) { return fits(shape, 4 * ceil_log2(shape.nranks) + 1); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {static_cast<double>(ceil_log2(shape.nranks)), (n - 1) / n};
}

struct Run {
  int first;
  int count;
};

/// Blocks first, first + 1, ... around the ranks, as one or two runs of consecutive chunks.
std::vector<Run> runs(int first, int count, int n) {
  const int before_end = std::min(count, n - first);
  if (before_end == count) return {{first, count}};
  return {{first, before_end}, {0, count - before_end}};
}

int most_count(const Shape& shape) { return std::max(1, shape.nranks / 2); }

Schedule build(const Shape& shape, int rank) {
  const int n = shape.nranks;
  Schedule schedule(shape, rank);
  schedule.slot_chunks = most_count(shape);
  schedule.add({.src = input(0), .dst = output(rank)});
  for (int distance = 1; distance < n; distance *= 2) {
    const int count = std::min(distance, n - distance);
    const int to = wrap(rank - distance, n);
    const int from = wrap(rank + distance, n);
    for (const Run& run : runs(rank, count, n))
      schedule.add({.src = output(run.first), .send = {to}, .count = run.count});
    for (const Run& run : runs(from, count, n))
      schedule.add({.recv = {from}, .dst = output(run.first), .count = run.count});
  }
  return schedule;
}

}  // namespace

Algorithm all_gather_bruck() {
  return {.name = "bruck",
          .kind = CollectiveKind::AllGather,
          .summary = "what a rank has, to a rank twice as far each round (Bruck et al.)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .most_count = most_count};
}

}  // namespace rondo
