// A rank that waits long leaves the CPU to others, whatever it waits in, and goes on as soon as it can.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "catch.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr std::chrono::milliseconds kWait{kSanitized ? 100 : 1500};
constexpr double kMostOfACpu = 0.05;
constexpr double kMostLate_s = 1.5e-3;     // a rank that slept its naps out would be late by up to 4 ms
constexpr size_t kLong = size_t{1} << 20;  // elements: more than goes through posts

double seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Rank 0 comes late to a call of all, and the others show what they used meanwhile: of a process all that
/// its threads did. Gives how long after rank 0 had come a rank was through, in seconds.
double come_late(const Rank& rank, const Way& way, const char* what, const std::function<void()>& call) {
  const clockid_t clock = way.threads ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
  check(rondo_barrier(rank.comm, nullptr), rank.comm);
  if (rank.rank == 0) std::this_thread::sleep_for(kWait);
  double came = seconds(CLOCK_MONOTONIC);
  const double before = seconds(clock);
  call();
  const double went = seconds(CLOCK_MONOTONIC);
  const double share = (seconds(clock) - before) / std::chrono::duration<double>(kWait).count();
  require(rank.rank == 0 || kSanitized || share < kMostOfACpu,
          std::string(what) + ": rank " + std::to_string(rank.rank) + " used " + std::to_string(100 * share) +
              " % of a CPU to wait");
  check(rondo_broadcast(&came, &came, 1, RONDO_FLOAT64, 0, rank.comm, nullptr), rank.comm);
  return went - came;
}

/// Most of the times; what else runs on the machine can hold up any single one.
void require_in_time(const Rank& rank, const std::vector<double>& late_s) {
  const auto in_time = std::count_if(late_s.begin(), late_s.end(), [](double s) { return s < kMostLate_s; });
  std::string all;
  for (const double s : late_s) all += " " + std::to_string(1e3 * s);
  require(kSanitized || 2 * in_time >= std::ssize(late_s),
          "rank " + std::to_string(rank.rank) + " went on too late, by ms:" + all);
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

void wait_in_everything(const Rank& rank, const Way& way) {
  std::vector<float> data(kLong);
  std::vector<double> late_s;
  const auto wait_in = [&](const char* what, const std::function<void()>& call) {
    late_s.push_back(come_late(rank, way, what, call));
  };
  wait_in("barrier", [&] { check(rondo_barrier(rank.comm, nullptr), rank.comm); });
  wait_in("recv", [&] { receive(rank, data.data(), true); });
  wait_in("request_wait", [&] { receive(rank, data.data(), false); });
  // Once more for what this call itself does: a first one makes connections.
  const auto reduce = [&] {
    check(rondo_all_reduce(data.data(), data.data(), kLong, RONDO_FLOAT32, RONDO_MAX, rank.comm, nullptr),
          rank.comm);
  };
  reduce();
  wait_in("all_reduce", reduce);
  require_in_time(rank, late_s);
}

TEST_CASE("a rank that waits long uses next to no CPU, and is not late") {
  for (const Way& way : kWays) {
    if (std::string_view(way.transport) == "sim") continue;
    for (const int nranks : {2, 5}) {
      INFO(way.transport << ", " << nranks << " ranks");
      expect_success(
          run_world(world_of(way, nranks), [&](const Rank& rank) { wait_in_everything(rank, way); }));
    }
  }
}

}  // namespace
}  // namespace rondo::test
