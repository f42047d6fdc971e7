// How ranks come together: threads of this process, processes started here, or the processes of a launcher,
// each with one or more threads. Used by the main thread.
#pragma once

#include <functional>

#include "options.h"
#include "row.h"

namespace rondo::perf {

/// Whether this process is a rank of mpirun, torchrun, srun or rondo-run, as their variables say.
bool launched();

/// Runs every rank count that the options ask for. Returns the exit code; the rows of all go to on_row, which
/// in a launcher's process is called at rank 0 only.
int run_benchmark(const Options& options, const std::function<void(const Row&)>& on_row);

}  // namespace rondo::perf
