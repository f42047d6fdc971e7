// SPDX-License-Identifier: Apache-2.0
// StagedSchedule: a Schedule made of stages, each in lanes of its own, such as a reduce-scatter within groups
// and then an all-reduce between them. Stages overlap as far as their data allows: a Step waits only for the
// Steps of earlier stages whose data it reads or overwrites. Used by one thread.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

/// Where the ranks and chunks of a smaller call are in the whole one.
struct Placement {
  std::function<int(int rank)> rank;
  /// The first of the `scale` chunks that a chunk stands for. Chunks that one Step of the smaller call moves
  /// together have to be consecutive.
  std::function<Ref(Ref chunk)> chunk;
  int scale = 1;
};

class StagedSchedule {
 public:
  struct StepPlace {
    int lane = 0;
    int step = 0;  // index in that lane
  };

  StagedSchedule(const Shape& shape, int rank, int parts) : shape_(shape), rank_(rank), parts_(parts) {}

  /// Adds a Step to a lane. Its waits follow from its data.
  void add(int lane, const Move& move);
  /// Adds, as a stage, what a rank does in a smaller call; its lanes follow `first_lane`, by their ports.
  /// Calls from the same lane on are made one after the other, as all ranks have to add them.
  void add_call(const Schedule& call, int first_lane, const Placement& place);
  /// What is added to a lane from now on also waits for all that these others have, from `first_lane` on.
  void wait(int lane, int first_lane);

  /// At all ranks alike: the most chunks that a Step of any of them moves.
  Schedule build(int slot_chunks) const;

 private:
  struct StepWait {
    StepPlace on;
    bool tile_before = false;
  };
  struct Planned {
    Move move;
    std::vector<StepWait> waits;
  };
  using Cell = std::pair<Buffer, int>;
  /// The latest accesses to a chunk, by lane.
  struct Uses {
    std::map<int, int> writes;
    std::map<int, int> reads;
  };
  using Memory = std::map<Cell, Uses>;

  int steps_in(int lane) const;
  void plan(StepPlace at, Move move, std::vector<StepWait> waits, const Memory& before);
  void wait_for_all(const std::map<int, int>& uses, int lane, std::vector<StepWait>& waits) const;
  void remember(StepPlace at, const Move& move);
  using Lanes = std::vector<std::vector<Planned>>;  // by port
  void keep_scratch(Lanes& lanes) const;
  static void drop_empty_waits(Lanes& lanes);

  const Shape shape_;
  const int rank_;
  const int parts_;
  Lanes lanes_;
  Memory memory_;
  std::map<Cell, StepPlace> first_writes_;  // of Scratch
};

}  // namespace rondo
