// SPDX-License-Identifier: Apache-2.0
// An independent check of schedules: runs them on real numbers, one message at a time in random order, with
// slots, garbage in unwritten memory, and chunks of random lengths. It shares no code with the verifier.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

struct ConcreteOptions {
  /// Whether what a Step of this rank and lane receives lands at its destination as soon as it is sent.
  using LandsEarly = std::function<bool(size_t rank, size_t lane, size_t step)>;
  /// Where the value lies that a Step of this rank and lane sends, if its receivers read it there, when they
  /// take the message; no buffer: it is in the message.
  using ReadAt = std::function<Ref(size_t rank, size_t lane, size_t step)>;

  int slots = 1;
  int tiles = 3;
  bool in_place = false;
  uint64_t seed = 1;
  LandsEarly lands_early = nullptr;
  ReadAt read_at = nullptr;
};

/// Whether all results are right, no other caller memory was written, and nothing is stuck or left over.
bool runs_right(const Shape& shape, const std::vector<Schedule>& ranks, const ConcreteOptions& options);

}  // namespace rondo
