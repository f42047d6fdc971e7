// Starts the ranks, passes their output and signals on, and ends all when one fails. One thread, one loop.
#pragma once

#include "options.h"

namespace rondo::run {

/// Returns the exit code of rondo-run.
int supervise(const Options& options);

}  // namespace rondo::run
