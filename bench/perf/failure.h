// The sentence of the last failure on this thread, whoever it came from.
#pragma once

#include <string>

#include "base/status.h"
#include "rondo/rondo.h"

namespace rondo::perf {

/// A failure of CUDA as one of the C API; RONDO_OK where there is none.
rondo_status_t noted(const Status& status);

/// Keeps what another thread had to say.
void note_failure(std::string sentence);

/// The sentence that was kept, and then forgets it; else what the library says.
std::string take_failure();

}  // namespace rondo::perf

/// Assigns the value of a Result to `target` or leaves the function with its Status.
#define PERF_TRY_ASSIGN_(result, target, expression)              \
  auto result = (expression);                                     \
  if (!result.ok()) return ::rondo::perf::noted(result.status()); \
  target = result.take()
#define PERF_TRY_ASSIGN(target, expression) \
  PERF_TRY_ASSIGN_(RONDO_CONCAT(perf_result_, __LINE__), target, expression)
