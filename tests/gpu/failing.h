// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of failing GPU calls.
#pragma once

#include <thread>

#include "processes.h"

namespace rondo::test {

inline constexpr size_t kCount = 2000;
inline constexpr double kSoon_s = 3;  // a busy machine may need longer than the documented 0.1 s

inline void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Waits for the communicator to fail.
inline rondo_status_t failure_of(rondo_comm_t comm, double limit_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  rondo_status_t status = RONDO_OK;
  while (status == RONDO_OK && std::chrono::steady_clock::now() < end) {
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
