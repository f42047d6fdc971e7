// SPDX-License-Identifier: Apache-2.0
// The calls of this process's communicators, and where its program is, as JSON, which rondo-flight and
// rondo-ps read. docs/flight.md describes it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "health/flight_recorders.h"
#include "stacks/program_place.h"

namespace rondo {

/// How much of the process is written: of its communicators those in calls, then those used last.
struct FlightExtent {
  size_t comms = SIZE_MAX;
  uint32_t calls = FlightRecorder::kRemembered;  // the latest of each
};

/// `reason`: why it is written. A line for each call.
std::string flight_text(const RecordedComms& comms, const char* reason, const FlightExtent& extent = {},
                        const ProgramPlace& program = {});

}  // namespace rondo
