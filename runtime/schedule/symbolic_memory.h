// SPDX-License-Identifier: Apache-2.0
// The memory of a symbolic run: the buffers of one rank, with checks of what may be read and written, and
// when. Owned by one run of the verifier, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "expressions.h"
#include "happens_before.h"
#include "schedule/schedule.h"

namespace rondo {

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
