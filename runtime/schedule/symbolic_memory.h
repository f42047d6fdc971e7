// SPDX-License-Identifier: Apache-2.0
// The memory of a symbolic run: the buffers of one rank, with checks of what may be read and written, and
// when. Owned by one run of the verifier, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "expressions.h"
#include "schedule/schedule.h"

namespace rondo {

using Clock = std::vector<uint32_t>;  // for each lane of all ranks, the Steps that are certain to be done

/// Vector clocks: which Steps of which lanes are certain to be done when another one starts. Order follows
/// from a lane's list, from waits, and from messages, but not from slots becoming free, so it holds at any
/// depth.
class HappensBefore {
 public:
  /// Does nothing if every rank has a single lane: then there is nothing to order.
  explicit HappensBefore(const std::vector<Schedule>& ranks);

  bool tracks() const { return tracks_; }
  /// The global index of a rank's lane.
  size_t index(size_t rank, size_t lane) const { return first_lane_[rank] + lane; }
  /// The Steps that are known to be done when the lane's next Step starts.
  const Clock& clock(size_t index) const { return clocks_[index]; }

  void join(size_t index, const Clock& other);
  /// Starts the lane's next Step; returns its 1-based number.
  uint32_t tick(size_t index) { return ++clocks_[index][index]; }
  bool is_over(size_t index, size_t other, uint32_t number) const { return clocks_[index][other] >= number; }

 private:
  bool tracks_ = false;
  std::vector<size_t> first_lane_;
  std::vector<Clock> clocks_;
};

class SymbolicMemory {
 public:
  SymbolicMemory(const Shape& shape, const Schedule& schedule, int tiles, bool in_place,
                 Expressions& expressions);

  /// A Step of one of the rank's lanes, for the detection of races between lanes.
  struct Access {
    const HappensBefore* order = nullptr;
    size_t lane = 0;      // HappensBefore's index of the lane
    uint32_t number = 0;  // of the Step
  };

  Result<ExpressionId> read(int tile, Ref ref, const Access& access);
  Status write(int tile, Ref ref, ExpressionId value, const Access& access);
  /// -1 if the rank has not written it.
  ExpressionId output(int tile, int chunk) const;
  /// Whether both are the same memory.
  bool same(int tile, Ref one, Ref other) const { return place(tile, one) == place(tile, other); }

 private:
  struct Touch {
    size_t lane = 0;
    uint32_t number = 0;
  };
  struct Cell {
    ExpressionId value = -1;
    int tile = -1;         // scratch: when it was written
    bool written = false;  // by this rank; false: provided by the caller
  };
  /// The lanes that have accessed a cell, if there are several to order.
  struct Touches {
    Touch last_write;
    std::vector<Touch> reads;  // since then: the last of each lane
  };

  size_t place(int tile, Ref ref) const;
  Status check_race(size_t cell, bool writing, const Access& access) const;

  Shape shape_;
  int rank_;
  Chunks chunks_;
  int tiles_;
  bool in_place_;
  std::vector<Cell> cells_;       // input of all tiles, output of all tiles, scratch
  std::vector<Touches> touches_;  // of each cell; empty if the rank has a single lane
};

}  // namespace rondo
