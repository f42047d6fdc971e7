// GPU collectives over connections between processes. Nothing here uses CUDA before ranks are forked.
#include <chrono>
#include <csignal>
#include <thread>

#include "calls.h"
#include "processes.h"
#include "worlds.h"

namespace rondo::test {
namespace {

TEST_CASE("processes with a GPU each make random calls over every transport") {
  if (children_lack_gpus(2)) return;
  const Environment slots("RONDO_SLOT_BYTES", "1024");
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 2, .transport = transport, .devices = {"cuda:0", "cuda:1"}},
                             [](Rank& rank) { random_calls(rank, rank.rank, 80'000, 40); }));
  }
}

TEST_CASE("processes that share a GPU over connections are refused with the reason") {
  if (children_lack_gpus()) return;
  expect_success(run_world({.nranks = 2, .transport = "tcp", .devices = {"cuda:0"}}, [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(4096);
    check_fails(rondo_all_reduce(memory.get(), memory.get(), 10, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
                RONDO_UNSUPPORTED, {"rank 0", "rank 1", "share a GPU"}, rank.comm);
  }));
}

/// A call of rank 0 on a stream, for which rank 1 never comes.
class LonelyCall {
 public:
  explicit LonelyCall(const Rank& rank) {
    int64_t* const data = device_.ints(kCount, 1);
    check(rondo_all_reduce(data, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, device_.handle()),
          rank.comm);
  }
  double drain_s() const { return device_.drain_s(); }

 private:
  static constexpr size_t kCount = 100;
  Device device_{0};
};

rondo_status_t async_error(const Rank& rank) {
  rondo_status_t status = RONDO_OK;
  check(rondo_async_error(rank.comm, &status));
  return status;
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

constexpr double kSoon_s = 2;  // much less than the deadlines here; the machine may be busy

TEST_CASE("an abort frees the streams of a GPU that waits") {
  if (children_lack_gpus(2)) return;
  expect_success(
      run_world({.nranks = 2, .transport = "shm", .devices = {"cuda:0", "cuda:1"}}, [](Rank& rank) {
        if (rank.rank == 1) {
          while (async_error(rank) == RONDO_OK) sleep_ms(1);
          require(async_error(rank) == RONDO_ABORTED, "not aborted");
          return;
        }
        const LonelyCall call(rank);
        sleep_ms(50);
        check(rondo_abort(rank.comm));
        require(call.drain_s() < kSoon_s, "the stream went on waiting");
      }));
}

TEST_CASE("a GPU that waits for a rank which does not come is freed at the deadline, and names it") {
  if (children_lack_gpus(2)) return;
  const WorldOptions options{
      .nranks = 2, .transport = "tcp", .devices = {"cuda:0", "cuda:1"}, .call_timeout_ms = 300};
  expect_success(run_world(options, [](Rank& rank) {
    if (rank.rank == 1) {
      while (async_error(rank) == RONDO_OK) sleep_ms(1);
      return;
    }
    const LonelyCall call(rank);
    require(call.drain_s() < kSoon_s, "the stream went on waiting");
    check_fails(rondo_barrier(rank.comm, nullptr), RONDO_TIMEOUT, {"all_reduce", "rank 1"}, rank.comm);
  }));
}

TEST_CASE("a GPU that waits for a process which dies is freed, and names it") {
  if (children_lack_gpus(2)) return;
  const auto outcomes =
      run_world({.nranks = 2, .transport = "shm", .devices = {"cuda:0", "cuda:1"}}, [](Rank& rank) {
        if (rank.rank == 1) {
          sleep_ms(50);
          ::raise(SIGKILL);
        }
        const LonelyCall call(rank);
        require(call.drain_s() < kSoon_s, "the stream went on waiting");
        check_fails(rondo_barrier(rank.comm, nullptr), RONDO_REMOTE_ERROR, {"rank 1"}, rank.comm);
      });
  CHECK(outcomes[1].signal == SIGKILL);
  INFO(outcomes[0].error);
  CHECK(outcomes[0].ok);
}

}  // namespace
}  // namespace rondo::test
