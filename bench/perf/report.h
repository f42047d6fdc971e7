// SPDX-License-Identifier: Apache-2.0
// What rank 0 prints besides the table: the ranks, the start-up time, and memory. Collective: every rank
// calls these; rank 0 prints.
#pragma once

#include "row.h"
#include "team.h"

namespace rondo::perf {

/// What a rank knows about its process.
struct ProcessFacts {
  int ranks = 1;        // in this process
  double start_us = 0;  // CLOCK_MONOTONIC when the job or this process started
};

/// Prints the comment lines at the top.
rondo_status_t report_ranks(const Team& team, const ProcessFacts& process, const Setup& setup);

/// Enters the first barrier; prints when all ranks had passed it and how much memory a rank then uses.
rondo_status_t report_startup(const Team& team, const ProcessFacts& process);

/// Prints how much memory a rank uses now.
rondo_status_t report_memory(const Team& team, const ProcessFacts& process);

}  // namespace rondo::perf
