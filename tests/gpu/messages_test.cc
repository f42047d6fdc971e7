// SPDX-License-Identifier: Apache-2.0
// Sends and receives of GPU memory between threads.
#include <chrono>
#include <future>

#include "catch.h"
#include "message_calls.h"

namespace rondo::test {
namespace {

TEST_CASE("threads send each other the memory of their GPUs") {
  if (lacks_gpus(2)) return;
  expect_success(run_world({.nranks = 4, .devices = {"cuda:0", "cuda:1"}, .threads = true}, [](Rank& rank) {
    Device device(rank.rank % 2);
    shift_all(rank, device, device.handle());
  }));
}

TEST_CASE("threads that share a GPU send each other its memory without a CUDA stream") {
  if (lacks_gpus()) return;
  for (const bool queued : {false, true})
    expect_success(run_world({.nranks = 2, .devices = {"cuda:0"}, .threads = true, .call_timeout_ms = 3000},
                             [&](Rank& rank) {
                               Device device(0);
                               int64_t* const data = device.ints(100, rank.rank);
                               rondo_stream_t queue = nullptr;
                               if (queued) check(rondo_queue_create(&queue));
                               check(rondo_barrier(rank.comm, nullptr), rank.comm);
                               if (rank.rank == 0) sleep_ms(100);  // the receive comes first
                               if (rank.rank == 0)
                                 send(rank, data, 100, 1, queue);
                               else
                                 recv(rank, data, 100, 0, queue);
                               if (queued) check(rondo_queue_synchronize(queue));
                               if (queued) check(rondo_queue_destroy(queue));
                               require(device.all_are(data, 100, 0), "wrong content");
                             }));
}

TEST_CASE("one thread's ranks send in a group") {
  if (lacks_gpus()) return;
  const Party party(3, "cuda:0");
  Device device(0);
  std::vector<int64_t*> to;
  check(rondo_group_start());
  for (int r = 0; r < party.size(); ++r) {
    const Rank rank = party.rank(r);
    to.push_back(device.ints(100, -1));
    recv(rank, to.back(), 100, previous(rank), party.handle(r));
    send(rank, device.ints(100, r), 100, next(rank), party.handle(r));
  }
  check(rondo_group_end());
  party.synchronize();
  for (int r = 0; r < party.size(); ++r)
    CHECK(device.all_are(to[static_cast<size_t>(r)], 100, previous(party.rank(r))));
}

TEST_CASE("a rank sends to itself") {
  if (lacks_gpus()) return;
  const Party party(1, "cuda:0");
  Device device(0);
  for (const size_t count : {10u, 400'000u}) {
    int64_t* const to = device.ints(count, -1);
    shift(party.rank(0), device.ints(count, 5), to, count, device.handle());
    device.drain_s();
    CHECK(device.all_are(to, count, 5));
  }
}

/// What docs/progress.md says about programs whose threads share a GPU.
TEST_CASE(
    "a synchronous copy waits for another thread's receive on a blocking stream, an asynchronous does not") {
  if (lacks_gpus()) return;
  const Party party(2, "cuda:0");
  Device device(0);
  int64_t* const got = device.ints(10, -1);
  int64_t* const sent = device.ints(10, 7);
  int64_t* const copied = device.ints(10, -1);
  const auto at = reinterpret_cast<CUdeviceptr>(copied);
  const std::vector<int64_t> values(10, 5);
  const size_t bytes = values.size() * sizeof(int64_t);
  CUstream blocking = nullptr;
  REQUIRE_CU(cuStreamCreate, &blocking, CU_STREAM_DEFAULT);
  recv(party.rank(0), got, 10, 1, rondo_cuda_stream(blocking));
  auto copy = std::async(std::launch::async, [&] {
    const gpu::Current current(0);
    return CU(cuMemcpyHtoD)(at, values.data(), bytes);
  });
  CHECK_CU(cuMemcpyHtoDAsync, reinterpret_cast<CUdeviceptr>(sent), values.data(), bytes, device.stream());
  device.drain_s();
  CHECK(copy.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout);
  send(party.rank(1), sent, 10, 0, party.handle(1));
  CHECK(copy.get() == CUDA_SUCCESS);
  REQUIRE_CU(cuStreamSynchronize, blocking);
  CHECK(device.all_are(copied, 10, 5));
  CHECK(device.all_are(got, 10, 5));
  CHECK_CU(cuStreamDestroy, blocking);
}

TEST_CASE("memory and streams that a message cannot use are named") {
  if (lacks_gpus(2)) return;
  const Party party(2, "cuda:0");
  Device device(0);
  Device other(1);
  std::vector<int64_t> pageable(10);
  int64_t* const there = other.ints(10, 0);
  int64_t* const here = device.ints(10, 0);
  const gpu::Current current(0);
  rondo_receipt_t receipt{};
  const rondo_comm_t comm = party.comm(0);
  const auto send_status = [&](const int64_t* data, rondo_stream_t stream) {
    return rondo_send(data, 10, RONDO_INT64, 1, kTag, comm, stream);
  };
  check_fails(send_status(pageable.data(), device.handle()), RONDO_INVALID_ARGUMENT, {"buf", "cannot reach"},
              comm);
  check_fails(send_status(there, nullptr), RONDO_INVALID_ARGUMENT, {"buf", "GPU 1", "GPU 0"}, comm);
  check_fails(send_status(here, other.handle()), RONDO_INVALID_ARGUMENT, {"stream"}, comm);
  check_fails(rondo_recv(here, 10, RONDO_INT64, 1, kTag, comm, device.handle(), &receipt),
              RONDO_INVALID_ARGUMENT, {"receipt"}, comm);
}

}  // namespace
}  // namespace rondo::test
