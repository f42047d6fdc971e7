// SPDX-License-Identifier: Apache-2.0
// All-reduce in two levels: a direct reduce-scatter within each group of close ranks, a direct all-reduce of
// each rank's slice with its counterparts in the other groups, a direct all-gather within the group.
//
//     2 groups of 2:   0 1 | 2 3        near:  0 folds slice 0 of 0, 1        2 folds slice 0 of 2, 3
//                                              1 folds slice 1 of 0, 1        3 folds slice 1 of 2, 3
//                                       far:   0 ◄─► 2  half of slice 0       1 ◄─► 3  half of slice 1
//                                       near:  0 ◄─► 1  slices 0, 1           2 ◄─► 3
//
// A group sends no more than it would in a ring: 2 vectors, of which each of its ranks sends a share, in two
// rounds. Each of the three stages has its own lane, so that the next tile is folded within the group while
// one is exchanged between groups. (The levels of HAN: X. Luo et al., HAN: a Hierarchical AutotuNed
// Collective Communication Framework, CLUSTER 2020.)
#include "algorithms/algorithm.h"
#include "groups.h"
#include "parts.h"

namespace rondo::all_reduce_hierarchical {
namespace {

enum : int { kFoldNear, kFar, kGatherNear };

bool supports(const Shape& shape) { return has_groups(shape) && fits(shape, 2 * shape.nranks); }

Cost cost(const Shape& shape) {
  const double n = shape.nranks, others = Groups(shape).count() - 1;
  return {.rounds = 2,
          .volume = 2 * others / n,
          .steady = 2 * others / n,
          .messages = 2 * others,
          .folds = others / n};
}

Cost intra_cost(const Shape& shape) {
  const double size = shape.group;
  return {.rounds = 2,
          .volume = 2 * (size - 1) / size,
          .steady = 2 * (size - 1) / size,
          .messages = 2 * (size - 1),
          .folds = (size - 1) / size};
}

/// The vector has one slice for each place in a group; each slice has one part for each group.
class Builder {
 public:
  Builder(const Shape& shape, int rank) : groups_(shape, rank), schedule_(shape, rank, shape.nranks) {
    schedule_.slot_chunks = groups_.count();
  }

  Schedule build() {
    const int folded = fold_near();
    const int complete = reduce_far(folded);
    gather_near(complete);
    return std::move(schedule_);
  }

 private:
  int slice(int place) const { return place * groups_.count(); }
  int own_slice() const { return slice(groups_.place()); }
  int part(int group) const { return own_slice() + group; }

  /// Each returns the last Step of its stage.
  int fold_near() {
    for (int mate : groups_.mates())
      schedule_.add(kFoldNear,
                    {.src = input(slice(groups_.place_of(mate))), .send = {mate}, .count = groups_.count()});
    return schedule_.add(kFoldNear, {.recv = groups_.whole_group(),
                                     .src = input(own_slice()),
                                     .dst = output(own_slice()),
                                     .count = groups_.count()});
  }
  int reduce_far(int folded) {
    const std::vector<int> counterparts = groups_.counterparts();
    const Ref own = output(part(groups_.group()));
    for (int peer : counterparts)
      schedule_.add(kFar, {.src = output(part(groups_.group_of(peer))),
                           .send = {peer},
                           .after_lane = kFoldNear,
                           .after_step = folded});
    schedule_.add(kFar, {.recv = groups_.whole_column(), .src = own, .dst = own, .finish = true});
    int last = schedule_.add(kFar, {.src = own, .send = counterparts});
    for (int peer : counterparts)
      last = schedule_.add(kFar, {.recv = {peer}, .dst = output(part(groups_.group_of(peer)))});
    return last;
  }
  void gather_near(int complete) {
    schedule_.add(kGatherNear, {.src = output(own_slice()),
                                .send = groups_.mates(),
                                .count = groups_.count(),
                                .after_lane = kFar,
                                .after_step = complete});
    for (int mate : groups_.mates())
      schedule_.add(kGatherNear,
                    {.recv = {mate}, .dst = output(slice(groups_.place_of(mate))), .count = groups_.count()});
  }

  Groups groups_;
  Schedule schedule_;
};

}  // namespace

Algorithm row() {
  return {
      .name = "hierarchical",
      .kind = CollectiveKind::AllReduce,
      .summary = "reduce-scatter in each group, all-reduce between groups, all-gather in each (Luo et al.)",
      .supports = supports,
      .cost = cost,
      .intra_cost = intra_cost,
      .build = [](const Shape& shape, int rank) { return Builder(shape, rank).build(); },
      .max_count = [](const Shape& shape) { return Groups(shape).count(); },
      .parts = [](const Shape& shape) { return shape.nranks; },
      .for_groups = true};
}

}  // namespace rondo::all_reduce_hierarchical
