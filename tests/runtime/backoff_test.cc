// SPDX-License-Identifier: Apache-2.0
// Backoff: when a thread that waits checks what is slower than its next poll.
#include "base/backoff.h"
#include "catch.h"

namespace rondo {
namespace {

/// Calls it for 50 ms; how often it was true.
template <typename Turn>
int times_true(Turn&& turn, int64_t& lasted_ns) {
  const int64_t began_ns = now_ns();
  int count = 0;
  do {
    count += turn() ? 1 : 0;
    lasted_ns = now_ns() - began_ns;
  } while (lasted_ns < 50'000'000);
  return count;
}

}  // namespace

TEST_CASE("checks are due every 10 ms at most while something moves all the time") {
  Backoff backoff(false);
  int64_t lasted_ns = 0;
  const int checks = times_true([&] { return backoff.moved(); }, lasted_ns);
  CHECK(checks >= 2);
  CHECK(checks <= 1 + lasted_ns / 10'000'000);
}

TEST_CASE("a wait that something interrupts begins anew") {
  Backoff backoff(true, [](int64_t) {});
  const auto look = [&] {
    while (!backoff.wait()) continue;
  };
  look();  // the wait is timed from the first look on
  int64_t lasted_ns = 0;
  times_true([&] { return backoff.wait(); }, lasted_ns);
  look();
  CHECK(backoff.waited_ns() >= 50'000'000);
  static_cast<void>(backoff.moved());
  look();
  CHECK(backoff.waited_ns() < 50'000'000);
}

}  // namespace rondo
