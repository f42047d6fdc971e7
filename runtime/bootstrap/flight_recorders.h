// SPDX-License-Identifier: Apache-2.0
// The registry of the flight recorders of all communicators in this process, in all sessions. Any thread.
#pragma once

#include <memory>

#include "health/comm_state.h"
#include "health/flight_recorder.h"

namespace rondo {

void remember_recorder(uint64_t session, uint64_t communicator, int rank,
                       std::shared_ptr<const FlightRecorder> recorder,
                       std::shared_ptr<const CommState> health);
void forget_recorder(uint64_t session, uint64_t communicator, int rank);

/// True if a rank of this process is inside a call on another communicator, or is waiting to finish one.
bool is_inside_another(uint64_t session, uint64_t communicator);

}  // namespace rondo
