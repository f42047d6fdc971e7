// SPDX-License-Identifier: Apache-2.0
// Limits: a process's limits on descriptors and memory, for the errors of a process that has reached one.
// Any thread.
#pragma once

#include "base/status.h"

namespace rondo {

/// The limit behind an errno, " (this process may have 1024 descriptors: ulimit -n)"; empty if there is none.
std::string limit_behind(int error_number);

/// The Status for a std::bad_alloc, with the process's memory limit if it has one.
Status out_of_memory();

}  // namespace rondo
