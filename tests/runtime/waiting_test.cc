// A rank that waits long leaves the CPU to others, whatever it waits in.
#include <time.h>

#include <chrono>
#include <functional>
#include <thread>

#include "catch.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr std::chrono::milliseconds kWait{1500};
constexpr double kMostOfACpu = 0.05;
constexpr size_t kLong = size_t{1} << 20;  // elements: more than goes through posts

double seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Rank 0 comes late to a call of all, and the others show what they used meanwhile: of a process all that
/// its threads did.
void come_late(const Rank& rank, const Way& way, const char* what, const std::function<void()>& call) {
  const clockid_t clock = way.threads ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
  check(rondo_barrier(rank.comm, nullptr), rank.comm);
  if (rank.rank == 0) std::this_thread::sleep_for(kWait);
  const double before = seconds(clock);
  call();
  const double share = (seconds(clock) - before) / std::chrono::duration<double>(kWait).count();
  require(rank.rank == 0 || share < kMostOfACpu, std::string(what) + ": rank " + std::to_string(rank.rank) +
                                                     " used " + std::to_string(100 * share) +
                                                     " % of a CPU to wait");
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
  come_late(rank, way, "barrier", [&] { check(rondo_barrier(rank.comm, nullptr), rank.comm); });
  come_late(rank, way, "recv", [&] { receive(rank, data.data(), true); });
  come_late(rank, way, "request_wait", [&] { receive(rank, data.data(), false); });
  // Once more for what this call itself does: a first one makes connections.
  const auto reduce = [&] {
    check(rondo_all_reduce(data.data(), data.data(), kLong, RONDO_FLOAT32, RONDO_MAX, rank.comm, nullptr),
          rank.comm);
  };
  reduce();
  come_late(rank, way, "all_reduce", reduce);
}

TEST_CASE("a rank that waits long uses next to no CPU") {
  if (kSanitized) return;  // every instruction costs many there
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
