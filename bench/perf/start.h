// SPDX-License-Identifier: Apache-2.0
// Starts the ranks: threads of this process, processes started here, or the processes of a launcher, each
// with one or more threads. Used by the main thread.
#pragma once

#include <functional>

#include "options.h"
#include "row.h"

namespace rondo::perf {

/// Whether this process is a rank of mpirun, torchrun, srun or rondo-run, according to their variables.
bool launched();

/// Runs every rank count that the options request. Returns the exit code; passes all rows to on_row, which in
/// a launcher's process is called only at rank 0.
int run_benchmark(const PerfOptions& options, const std::function<void(const Row&)>& on_row);

}  // namespace rondo::perf
