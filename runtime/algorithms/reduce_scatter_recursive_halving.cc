// Reduce-scatter by recursive halving: partners half the ranks apart exchange halves, then quarters, and so
// on.
//
//     4 ranks:   distance 2:   0 ─[2 3]─► 2,  2 ─[0 1]─► 0        0 and 1 are left with blocks 0 1, 2 and 3
//     with 2 3
//                distance 1:   0 ─[1]─► 1,    1 ─[0]─► 0          each with its own
//
//     where n is not a power of two, the first ranks work in pairs: the second sends all of its blocks to the
//     first, which sends it its result at the end.
//
// log2 n rounds and the least volume possible for 2^k ranks; for commutative reductions. (Rabenseifner, ICCS
// 2004.)
#include <algorithm>

#include "parts.h"
#include "power_groups.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) {
  return shape.commutative && fits(shape, 2 * ceil_log2(shape.nranks) + 3);
}

/// The first rank of a pair gets its second's blocks while half a vector of its first partner is already
/// under way.
Cost cost(const Shape& shape) {
  const PowerGroups groups(shape.nranks);
  double blocks = groups.uneven() ? 1.5 * shape.nranks + 1 : 0;
  for (int half = groups.groups() / 2; half > 0; half /= 2) blocks += groups.leader(half);
  return {floor_log2(shape.nranks) + (groups.uneven() ? 2.0 : 0.0), blocks / shape.nranks};
}

/// The blocks of the groups [first, end), which are consecutive.
struct Blocks {
  int first;
  int count;
};

Blocks blocks_of(const PowerGroups& groups, int first, int end) {
  return {groups.leader(first), groups.leader(end) - groups.leader(first)};
}

void add_exchange(Schedule& schedule, int partner, Blocks theirs, Blocks ours, Buffer folds) {
  schedule.add({.src = {folds, theirs.first}, .send = {partner}, .count = theirs.count});
  Move keep{.recv = {schedule.rank, partner}, .src = {folds, ours.first}, .dst = scratch(ours.first)};
  keep.count = ours.count;
  if (ours.count == 1) {
    keep.dst = output(0);
    keep.finish = true;
  }
  schedule.add(keep);
}

void add_leader(Schedule& schedule, const PowerGroups& groups) {
  const int rank = schedule.rank;
  const int group = groups.group_of(rank);
  const int second = groups.second(group);
  Buffer folds = Buffer::Input;
  if (second >= 0) {
    schedule.add({.recv = {rank, second}, .src = input(0), .dst = scratch(0), .count = schedule.nranks});
    folds = Buffer::Scratch;
  }
  int first = 0;
  for (int half = groups.groups() / 2; half > 0; half /= 2) {
    const bool low = group < first + half;
    const Blocks below = blocks_of(groups, first, first + half);
    const Blocks above = blocks_of(groups, first + half, first + 2 * half);
    const int partner = groups.leader(low ? group + half : group - half);
    add_exchange(schedule, partner, low ? above : below, low ? below : above, folds);
    folds = Buffer::Scratch;
    if (!low) first += half;
  }
  if (second < 0) return;
  schedule.add({.src = scratch(rank), .dst = output(0), .finish = true});
  schedule.add({.src = scratch(second), .send = {second}, .finish = true});
}

int most_count(const Shape& shape) {
  return PowerGroups(shape.nranks).uneven() ? shape.nranks : std::max(1, shape.nranks / 2);
}

Schedule build(const Shape& shape, int rank) {
  const PowerGroups groups(shape.nranks);
  const int leader = groups.leader(groups.group_of(rank));
  const bool leads = leader == rank;
  Schedule schedule(shape, rank, 1, leads && shape.nranks > 2 ? shape.nranks : 0);
  schedule.slot_chunks = most_count(shape);
  if (shape.nranks == 1) {
    schedule.add({.src = input(0), .dst = output(0), .finish = true});
  } else if (leads) {
    add_leader(schedule, groups);
  } else {
    schedule.add({.src = input(0), .send = {leader}, .count = shape.nranks});
    schedule.add({.recv = {leader}, .dst = output(0)});
  }
  return schedule;
}

}  // namespace

Algorithm reduce_scatter_recursive_halving() {
  return {.name = "recursive_halving",
          .kind = CollectiveKind::ReduceScatter,
          .summary = "partners n/2, n/4 ... apart exchange halves (Rabenseifner)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .most_count = most_count};
}

}  // namespace rondo
