// SPDX-License-Identifier: Apache-2.0
// The clock that all processes of a host share.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace rondo::test {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline void sleep_us(int64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }
inline void sleep_ms(int64_t ms) { sleep_us(1000 * ms); }

}  // namespace rondo::test
