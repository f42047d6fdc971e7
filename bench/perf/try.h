// Leaves the function with the status of a call that failed.
#pragma once

#define PERF_TRY(expression)                                                                          \
  do {                                                                                                \
    if (const rondo_status_t perf_status = (expression); perf_status != RONDO_OK) return perf_status; \
  } while (false)
