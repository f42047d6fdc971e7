// The time that a call takes at least: what it has to move over the rate at which GPUs copy.
#pragma once

#include <optional>

#include "trial.h"

namespace rondo::perf {

/// Measures how fast each GPU copies within its memory, into team.copy_rates. Collective: every thread calls
/// this.
rondo_status_t measure_copy_rates(Team& team);

/// Microseconds, by the GPU that takes longest; nothing where rates were not measured.
std::optional<double> limit_us(const Team& team, const Trial& trial);

}  // namespace rondo::perf
