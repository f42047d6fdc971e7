// SPDX-License-Identifier: Apache-2.0
// Measures one row: warms up, times, checks, and combines the ranks' results. Collective: every thread calls
// it with the same case.
#pragma once

#include "row.h"
#include "trial.h"

namespace rondo::perf {

/// Times and checks the call of the trials, one for each rank of the team, out of place and, if the
/// collective has that form, in place. At rank 0 `row` receives the results of all ranks; elsewhere this
/// thread's.
rondo_status_t measure(Team& team, std::vector<Trial> trials, Checker& checker, Row& row);

}  // namespace rondo::perf
