// SPDX-License-Identifier: Apache-2.0
// One thread's part of the benchmark after joining: runs every table that the options request, with all ranks
// that the thread drives.
#pragma once

#include "exit_code.h"
#include "options.h"
#include "report.h"
#include "rondo/rondo.h"
#include "row.h"

namespace rondo::perf {

struct SessionInput {
  const PerfOptions* options = nullptr;
  rondo_comm_t comm = nullptr;  // of all threads
  int thread = 0;               // this thread's rank in it
  int nthreads = 1;
  bool watches = true;             // this thread drives its process's watchdog
  GraphMeeting* graphs = nullptr;  // of its process
  ProcessFacts process;
  const RowReceiver* results = nullptr;  // called at rank 0
};

/// Returns an ExitCode. Any failure has been printed.
int run_session(const SessionInput& input);

/// Prints the library's message about a failure on this thread as "rondo-perf: rank 3: ...", without the
/// rank if that is negative; returns kLibraryFailed.
int report_failure(int rank, rondo_status_t status);

}  // namespace rondo::perf
