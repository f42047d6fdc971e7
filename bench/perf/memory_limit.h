// SPDX-License-Identifier: Apache-2.0
// The lower bound on a call's time: the bytes that it must move divided by the GPUs' copy rate.
#pragma once

#include <optional>

#include "trial.h"

namespace rondo::perf {

/// Measures how fast each GPU copies within its memory and stores it in team.copy_rates. Collective: every
/// thread calls this.
rondo_status_t measure_copy_rates(Team& team);

/// In microseconds, for the slowest GPU; nothing if the rates were not measured.
std::optional<double> limit_us(const Team& team, const Trial& trial);

}  // namespace rondo::perf
