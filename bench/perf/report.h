// What rank 0 prints besides the table: who takes part, how long the start took, and memory. Collective:
// every rank calls these; rank 0 prints.
#pragma once

#include "row.h"
#include "team.h"

namespace rondo::perf {

/// What a rank knows about its process.
struct ProcessFacts {
  int ranks = 1;        // of this process
  double start_us = 0;  // CLOCK_MONOTONIC when the job or this process started
};

/// The comment lines at the top.
rondo_status_t report_ranks(const Team& team, const ProcessFacts& process, const Setup& setup);

/// Enters a barrier, the first, and prints when all were through it and what a rank then holds in memory.
rondo_status_t report_startup(const Team& team, const ProcessFacts& process);

/// What a rank holds in memory now.
rondo_status_t report_memory(const Team& team, const ProcessFacts& process);

}  // namespace rondo::perf
