// SPDX-License-Identifier: Apache-2.0
// Starts the ranks: threads of this process, processes started here, or the processes of a launcher, each
// with one or more threads. Used by the main thread.
#pragma once

#include "options.h"
#include "row.h"

namespace rondo::perf {

/// Whether this process is a rank of mpirun, torchrun, srun or rondo-run, according to their variables.
bool launched();

/// Runs every rank count that the options request. Returns the exit code. In a launcher's process, only rank
/// 0 has results.
int run_benchmark(const PerfOptions& options, const RowReceiver& results);

}  // namespace rondo::perf
