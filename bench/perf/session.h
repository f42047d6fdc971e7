// One rank's part of the benchmark, from joined to finished: every table that the options ask for. Runs on
// the thread that uses the communicator.
#pragma once

#include <functional>

#include "options.h"
#include "report.h"
#include "rondo/rondo.h"
#include "row.h"

namespace rondo::perf {

/// The exit codes of rondo-perf.
enum ExitCode { kAllRight = 0, kWrongValues = 1, kBadOptions = 2, kLibraryFailed = 3 };

struct SessionInput {
  const Options* options = nullptr;
  rondo_comm_t comm = nullptr;
  int rank = 0;
  int nranks = 1;
  bool watches = true;  // this rank keeps its process's watchdog
  ProcessFacts process;
  std::function<void(const Row&)> on_row;  // called at rank 0
};

/// Returns an ExitCode. What failed has then been printed.
int run_session(const SessionInput& input);

/// Prints what the library says about a failure on this thread, as "rondo-perf: rank 3: ..."; returns
/// kLibraryFailed.
int report_failure(int rank, rondo_status_t status);

}  // namespace rondo::perf
