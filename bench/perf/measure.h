// Measures one row: warms up, times, checks, and brings the ranks' results together. Collective: every thread
// calls it with the same case.
#pragma once

#include "row.h"
#include "trial.h"

namespace rondo::perf {

/// Times and checks the call of the trials, one for each rank of the team, out of place and, where there is
/// such a form, in place. At rank 0 `row` gets the results of all ranks; elsewhere this thread's.
rondo_status_t measure(Team& team, std::vector<Trial> trials, Checker& checker, Row& row);

}  // namespace rondo::perf
