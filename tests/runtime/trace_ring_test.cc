// SPDX-License-Identifier: Apache-2.0
// TraceRing: what many threads push is popped once and whole, or counted as dropped. TraceClocks.
#include "trace_ring.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "catch.h"
#include "trace_text.h"

namespace rondo {
namespace {

TEST_CASE("records that find no room are counted, and the others stay in order") {
  const auto ring = std::make_unique<TraceRing>();
  TraceRecord record;
  CHECK_FALSE(ring->pop(record));
  for (uint64_t turn = 0; turn < 3; ++turn) {
    for (uint64_t at = 0; at < TraceRing::kRecords + 5; ++at)
      CHECK(ring->push({.message = at}) == (at < TraceRing::kRecords));
    CHECK(ring->dropped() == 5 * (turn + 1));
    for (uint64_t at = 0; at < TraceRing::kRecords; ++at) {
      REQUIRE(ring->pop(record));
      CHECK(record.message == at);
    }
    CHECK_FALSE(ring->pop(record));
  }
}

TEST_CASE("threads push whole records while another pops them") {
  const auto ring = std::make_unique<TraceRing>();
  constexpr uint64_t kEach = 100'000;
  constexpr uint32_t kThreads = 3;
  std::atomic<uint32_t> ended{0};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (uint64_t at = 1; at <= kEach; ++at) ring->push({.bytes = ~at, .message = at, .track = thread});
      ++ended;
    });
  uint64_t popped = 0;
  bool is_right = true;
  std::vector<uint64_t> latest(kThreads);
  TraceRecord record;
  for (bool is_last = false; !is_last;) {
    is_last = ended == kThreads;
    while (ring->pop(record)) {
      ++popped;
      is_right = is_right && record.bytes == ~record.message && record.message > latest[record.track];
      latest[record.track] = record.message;
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(is_right);
  CHECK(popped + ring->dropped() == kEach * kThreads);
}

TEST_CASE("both clocks are read again if the process was interrupted") {
  // The monotonic clock is 1,000 behind; the first readings are far apart, and one is not.
  static int64_t now = 0;
  static int readings = 0;
  const auto monotonic_ns = [] { return now += ++readings == 8 ? 2 : 10'000; };
  const auto wall_ns = [] { return now += 1, now + 1000; };
  const TraceClocks clocks = read_clocks(monotonic_ns, wall_ns);
  CHECK(readings > 8);
  CHECK(std::abs(clocks.wall_ns - clocks.monotonic_ns - 1000) <= 1);
}

// Hidden: a time means nothing on a busy machine.
TEST_CASE("the time that a traced call takes more", "[.measure]") {
  const auto ring = std::make_unique<TraceRing>();
  constexpr uint64_t kCalls = 10'000;
  int64_t least_ns = INT64_MAX;
  for (int round = 0; round < 1000; ++round) {
    const int64_t began_ns = now_ns();
    for (uint64_t call = 0; call < kCalls; ++call) {
      const int64_t call_began_ns = now_ns();
      ring->push({.began_ns = call_began_ns, .ended_ns = now_ns(), .message = call});
    }
    least_ns = std::min(least_ns, now_ns() - began_ns);
    TraceRecord record;
    while (ring->pop(record)) continue;
  }
  WARN("ns to trace a call: " << static_cast<double>(least_ns) / kCalls);
}

}  // namespace
}  // namespace rondo
