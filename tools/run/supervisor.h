// SPDX-License-Identifier: Apache-2.0
// Starts the ranks, forwards their output and signals, and ends all when one fails. One thread, one loop.
#pragma once

#include "options.h"

namespace rondo::run {

/// Returns the exit code of rondo-run.
int supervise(const RunOptions& options);

}  // namespace rondo::run
