// SPDX-License-Identifier: Apache-2.0
// Turn: a call's place in the order of its communicator's calls. A turn that was taken must be ended, or
// later calls would wait forever.
#pragma once

#include <cstdint>

#include "base/backoff.h"
#include "comm/communicator.h"

namespace rondo {

struct Turn {
  Communicator* communicator;
  uint64_t number;
};

/// Bounded: earlier calls end at their deadlines.
inline void await(const Turn& turn) {
  const auto has_come = [&] { return turn.communicator->is_turn(turn.number); };
  if (!has_come()) [[unlikely]]
    wait_until(has_come);
}

/// Ends a turn even if an exception was thrown.
struct TurnEnd {
  const Turn& turn;
  ~TurnEnd() { turn.communicator->end_turn(turn.number); }
};

}  // namespace rondo
