// SPDX-License-Identifier: Apache-2.0
// Scans by recursive doubling: in round k each rank adds the fold of the 2^k ranks below those it already
// has.
//
//     distance 1:   0 ─► 1 ─► 2 ─► 3 ─► 4          r holds the fold of r-1 .. r
//     distance 2:   0 ─► 2   1 ─► 3   2 ─► 4       r-3 .. r
//     distance 4:   0 ─► 4                         r-7 .. r
//
// The exclusive scan first moves each vector one rank up; then it is the scan of ranks 1 to n - 1.
//
//     shift:        0 ─► 1 ─► 2 ─► 3 ─► 4          r holds x(r-1)
//     distance 1:        1 ─► 2 ─► 3 ─► 4          the fold of x(r-2) .. x(r-1)
//     distance 2:        1 ─► 3   2 ─► 4           of x(r-4) .. x(r-1)
//
// ceil(log2 n) rounds of the whole vector, or 1 + ceil(log2(n - 1)), for short vectors. Runs of consecutive
// ranks are joined, so the fold is in rank order. Rank 0's output of the exclusive scan is never written.
// (W. D. Hillis, G. L. Steele, Data Parallel Algorithms, CACM 1986.)
#include "algorithms/algorithm.h"
#include "parts.h"

namespace rondo::scan_recursive_doubling {
namespace {

bool supports(const Shape& shape) { return fits(shape, ceil_log2(shape.nranks) + 1); }
bool supports_exclusive(const Shape& shape) { return fits(shape, ceil_log2(shape.nranks) + 3); }

Cost cost(const Shape& shape) {
  const double vectors = ceil_log2(shape.nranks);
  return {static_cast<double>(floor_log2(shape.nranks)), vectors, vectors};
}

Cost exclusive_cost(const Shape& shape) {
  if (shape.nranks == 1) return {};
  const double vectors = 1 + ceil_log2(shape.nranks - 1);
  return {1.0 + floor_log2(shape.nranks - 1), vectors, vectors};
}

/// Adds this rank's Steps of an inclusive scan over the ranks `first` to n - 1 into output[0]. `start` makes
/// the own operand available in `operand`.
void add_doubling_scan(Schedule& schedule, int first, const Move& start, Ref operand) {
  const int rank = schedule.rank;
  Move move = start;
  int distance = 1;
  for (; distance <= rank - first; distance *= 2) {
    if (rank + distance < schedule.nranks) move.send = {rank + distance};
    const bool does_something = !move.recv.empty() || !move.send.empty() || move.dst.buffer != Buffer::None;
    if (does_something) schedule.add(move);
    move = {.recv = {rank - distance, rank}, .src = operand, .dst = output(0)};
    operand = output(0);
  }
  // The prefix is complete: send it to all ranks that still need it.
  move.dst = output(0);
  for (; rank + distance < schedule.nranks; distance *= 2) move.send.push_back(rank + distance);
  schedule.add(move);
}

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  add_doubling_scan(schedule, 0, {.src = input(0)}, input(0));
  return schedule;
}

Schedule build_exclusive(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  if (rank + 1 < shape.nranks) schedule.add({.src = input(0), .send = {rank + 1}});
  if (rank > 0) add_doubling_scan(schedule, 1, {.recv = {rank - 1}, .dst = output(0)}, output(0));
  return schedule;
}

}  // namespace

Algorithm scan() {
  return {.name = "recursive_doubling",
          .kind = CollectiveKind::Scan,
          .summary = "add the fold of 1, 2, 4 ... ranks below (Hillis, Steele)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .connects_up_and_down = true};
}

Algorithm exscan() {
  return {.name = "recursive_doubling",
          .kind = CollectiveKind::Exscan,
          .summary = "shift by a rank, then the doubling scan (Hillis, Steele)",
          .supports = supports_exclusive,
          .cost = exclusive_cost,
          .build = build_exclusive,
          .connects_up_and_down = true};
}

}  // namespace rondo::scan_recursive_doubling
