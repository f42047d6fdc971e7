// SPDX-License-Identifier: Apache-2.0
// The message of the last failure on this thread, whether from CUDA, the library or the benchmark itself.
#pragma once

#include <string>

#include "base/status.h"
#include "rondo/rondo.h"

namespace rondo::perf {

/// Converts a CUDA failure to a C API status and keeps its message; RONDO_OK if there is none.
rondo_status_t noted(const Status& status);

/// Keeps a message, for example from another thread.
void note_failure(std::string sentence);

/// Returns the kept message and forgets it; if there is none, the library's.
std::string take_failure();

}  // namespace rondo::perf

/// Assigns the value of a Result to `target`, or returns its Status from the function.
#define PERF_TRY_ASSIGN_(result, target, expression)              \
  auto result = (expression);                                     \
  if (!result.ok()) return ::rondo::perf::noted(result.status()); \
  target = result.take()
#define PERF_TRY_ASSIGN(target, expression) \
  PERF_TRY_ASSIGN_(RONDO_CONCAT(perf_result_, __LINE__), target, expression)
