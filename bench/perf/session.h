// One thread's part of the benchmark, from joined to finished: every table that the options ask for, with all
// ranks that the thread drives.
#pragma once

#include <functional>

#include "exit_code.h"
#include "options.h"
#include "report.h"
#include "rondo/rondo.h"
#include "row.h"

namespace rondo::perf {

struct SessionInput {
  const Options* options = nullptr;
  rondo_comm_t comm = nullptr;  // of all threads
  int thread = 0;               // in it
  int nthreads = 1;
  bool watches = true;             // this thread keeps its process's watchdog
  GraphMeeting* graphs = nullptr;  // its process's
  ProcessFacts process;
  std::function<void(const Row&)> on_row;  // called at rank 0
};

/// Returns an ExitCode. What failed has then been printed.
int run_session(const SessionInput& input);

/// Prints what the library says about a failure on this thread, as "rondo-perf: rank 3: ..."; returns
/// kLibraryFailed.
int report_failure(int rank, rondo_status_t status);

}  // namespace rondo::perf
