// Limits: what a process may have of descriptors and memory, for errors of a process that has reached one.
// Any thread.
#pragma once

#include "base/status.h"

namespace rondo {

/// The limit behind an errno, " (this process may have 1024 descriptors: ulimit -n)"; empty where there is
/// none.
std::string limit_behind(int error_number);

/// What a std::bad_alloc is to the caller, with the process's limit where it has one.
Status out_of_memory();

}  // namespace rondo
