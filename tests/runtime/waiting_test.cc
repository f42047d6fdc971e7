// SPDX-License-Identifier: Apache-2.0
// A rank that waits long leaves the CPU to others, whatever the call, and continues as soon as it can.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <semaphore>
#include <thread>

#include "catch.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr std::chrono::milliseconds kWait{1500};
constexpr double kMaxOfACpu = kSanitized ? 0.1 : 0.05;  // includes a call's own work
constexpr size_t kLong = (size_t{1} << 16) + 1;         // elements: just more than the mailbox takes

/// Long enough for sleeps to reach their maximum of 4 ms; sleeping to the end would cost 2 ms on average.
constexpr std::chrono::milliseconds kShorterWait{kSanitized ? 50 : 300};
constexpr std::chrono::milliseconds kBareWait{5};
constexpr double kMaxLate_s = 1.5e-3;
constexpr int kRounds = kSanitized ? 1 : 3;
constexpr int kAttempts = 5;  // other load on the machine delays ranks as well

double seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// How late the machine itself wakes a thread: one that sleeps on a semaphore, woken by a thread that has
/// slept.
double bare_wakeup_s() {
  std::binary_semaphore posted(0);
  double posted_s = 0;
  std::thread poster([&] {
    std::this_thread::sleep_for(kBareWait);
    posted_s = seconds(CLOCK_MONOTONIC);
    posted.release();
  });
  posted.acquire();
  const double woken_s = seconds(CLOCK_MONOTONIC);
  poster.join();
  return woken_s - posted_s;
}

struct Waited {
  double cpu_s;   // for a process, of all its threads
  double late_s;  // from rank 0's arrival until this rank left the call
};

/// Rank 0 arrives late at a call of all ranks.
Waited come_late(const Rank& rank, const Way& way, std::chrono::milliseconds wait,
                 const std::function<void()>& call) {
  const clockid_t clock = way.threads ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
  check(rondo_barrier(rank.comm, nullptr), rank.comm);
  if (rank.rank == 0) std::this_thread::sleep_for(wait);
  double came_s = seconds(CLOCK_MONOTONIC);
  const double before_s = seconds(clock);
  call();
  const double cpu_s = seconds(clock) - before_s;
  const double went_s = seconds(CLOCK_MONOTONIC);
  check(rondo_broadcast(&came_s, &came_s, 1, RONDO_FLOAT64, 0, rank.comm, nullptr), rank.comm);
  return {cpu_s, went_s - came_s};
}

void receive(const Rank& rank, float* data, bool at_once) {
  if (rank.rank == 0) {
    for (int peer = 1; peer < rank.size; ++peer)
      check(rondo_send(data, 1, RONDO_FLOAT32, peer, 0, rank.comm, nullptr), rank.comm);
  } else if (at_once) {
    check(rondo_recv(data, 1, RONDO_FLOAT32, 0, 0, rank.comm, nullptr, nullptr), rank.comm);
  } else {
    rondo_request_t request = nullptr;
    check(rondo_irecv(data, 1, RONDO_FLOAT32, 0, 0, rank.comm, nullptr, &request), rank.comm);
    check(rondo_request_wait(request, 0), rank.comm);
    check(rondo_request_free(request), rank.comm);
  }
}

/// Runs `wait_in(what, call)` for each kind of call.
template <typename WaitIn>
void wait_in_everything(const Rank& rank, const WaitIn& wait_in) {
  std::vector<float> data(kLong);
  wait_in("barrier", [&] { check(rondo_barrier(rank.comm, nullptr), rank.comm); });
  wait_in("recv", [&] { receive(rank, data.data(), true); });
  wait_in("request_wait", [&] { receive(rank, data.data(), false); });
  // An extra call first, which makes the connections, so that only the wait is measured.
  const auto reduce = [&] {
    check(rondo_all_reduce(data.data(), data.data(), kLong, RONDO_FLOAT32, RONDO_MAX, rank.comm, nullptr),
          rank.comm);
  };
  reduce();
  wait_in("all_reduce", reduce);
}

void use_no_cpu(const Rank& rank, const Way& way) {
  wait_in_everything(rank, [&](const char* what, const std::function<void()>& call) {
    const Waited waited = come_late(rank, way, kWait, call);
    const double share = waited.cpu_s / std::chrono::duration<double>(kWait).count();
    require(rank.rank == 0 || share < kMaxOfACpu, std::string(what) + ": rank " + std::to_string(rank.rank) +
                                                      " used " + std::to_string(100 * share) +
                                                      " % of a CPU to wait");
  });
}

void go_on_in_time(const Rank& rank, const Way& way) {
  std::string all;
  int calls = 0;
  int late = 0;
  int bare_late = 0;  // of as many wakeups without Rondo: what other load on the machine does
  for (int round = 0; round != kRounds; ++round)
    wait_in_everything(rank, [&](const char* what, const std::function<void()>& call) {
      const double late_s = come_late(rank, way, kShorterWait, call).late_s;
      all += std::string(" ") + what + " " + std::to_string(late_s * 1e3);
      ++calls;
      if (late_s > kMaxLate_s) ++late;
      if (!kSanitized && bare_wakeup_s() > kMaxLate_s) ++bare_late;
    });
  require(kSanitized || 4 * (late - bare_late) <= calls,
          "rank " + std::to_string(rank.rank) + " resumed too late, by (ms):" + all +
              "; of as many bare wakeups " + std::to_string(bare_late) + " were late");
}

bool is_success(const std::vector<Outcome>& outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.ok; });
}

TEST_CASE("a rank that waits long uses next to no CPU") {
  for (const Way& way : kWays) {
    if (std::string_view(way.transport) == "sim") continue;
    for (const int nranks : {2, 5}) {
      INFO(way.transport << ", " << nranks << " ranks");
      expect_success(run_world(world_of(way, nranks), [&](const Rank& rank) { use_no_cpu(rank, way); }));
    }
  }
}

TEST_CASE("a rank that has waited long continues as soon as it can") {
  for (const Way& way : kWays) {
    if (std::string_view(way.transport) == "sim") continue;
    INFO(way.transport);
    std::vector<Outcome> outcomes;
    for (int attempt = 0; attempt == 0 || (attempt != kAttempts && !is_success(outcomes)); ++attempt)
      outcomes = run_world(world_of(way, 2), [&](const Rank& rank) { go_on_in_time(rank, way); });
    expect_success(outcomes);
  }
}

}  // namespace
}  // namespace rondo::test
