// SPDX-License-Identifier: Apache-2.0
// Returns the status of a failed call from the enclosing function.
#pragma once

#define PERF_TRY(expression)                                                                          \
  do {                                                                                                \
    if (const rondo_status_t perf_status = (expression); perf_status != RONDO_OK) return perf_status; \
  } while (false)
