// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of failing GPU calls.
#pragma once

#include "processes.h"

namespace rondo::test {

inline constexpr size_t kCount = 2000;
inline constexpr double kSoon_s = 3;  // a busy machine may need longer than the documented 0.1 s

/// Waits for the communicator to fail.
inline rondo_status_t failure_of(rondo_comm_t comm, double limit_s) {
  const double end = seconds_now() + limit_s;
  rondo_status_t status = RONDO_OK;
  while (status == RONDO_OK && seconds_now() < end) {
    check(rondo_async_error(comm, &status));
    sleep_ms(1);
  }
  return status;
}

inline rondo_status_t try_sum(const Rank& rank, int64_t* data, rondo_stream_t stream) {
  return rondo_all_reduce(data, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, stream);
}
inline void sum(const Rank& rank, int64_t* data, rondo_stream_t stream) {
  check(try_sum(rank, data, stream), rank.comm);
}

}  // namespace rondo::test
