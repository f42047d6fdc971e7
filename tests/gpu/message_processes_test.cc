// SPDX-License-Identifier: Apache-2.0
// Sends and receives of GPU memory between processes: blocking, on streams and in graphs, mixed with those of
// host memory, and failures. Nothing here uses CUDA before ranks are forked.
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "failing.h"
#include "graph.h"
#include "message_calls.h"
#include "started.h"

namespace rondo::test {
namespace {

TEST_CASE("processes that share a GPU send each other its memory") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const char* transport : {"shm", "tcp"})
    expect_success(
        run_world({.nranks = 3, .transport = transport, .devices = {"cuda:0"}, .environment = folder.with()},
                  [](Rank& rank) {
                    Device device(0);
                    shift_all(rank, device, nullptr);
                    shift_all(rank, device, device.handle());
                  }));
}

TEST_CASE("messages keep the order of their streams") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(
      run_world(processes(2, {"cuda:0"}, folder.with({{"RONDO_STANDIN_SEED", "5"}})), [](Rank& rank) {
        constexpr size_t kLong = 300'000;
        Device device(0);
        int64_t* const data = device.ints(kLong, 0);
        for (int i = 1; i < 20; ++i) {
          const auto byte = static_cast<std::byte>(i);
          if (rank.rank == 0) {
            require_ok(gpu::fill(data, byte, kLong * sizeof *data, device.stream()));
            send(rank, data, kLong, 1, device.handle());
            require_ok(gpu::fill(data, std::byte{0xff}, kLong * sizeof *data, device.stream()));
          } else {
            recv(rank, data, kLong, 0, device.handle());
            device.drain_s();
            require(device.all_are(data, kLong, 0x0101010101010101 * i), "message " + std::to_string(i));
          }
        }
        device.drain_s();
      }));
}

TEST_CASE("an empty message is waited for as any other") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with()), [](Rank& rank) {
    constexpr auto kLate = std::chrono::milliseconds(200);
    Device device(0);
    int64_t* const data = device.ints(1, 5);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 0) {
      std::this_thread::sleep_for(kLate);
      send(rank, data, 0, 1, device.handle());
      device.drain_s();
    } else {
      recv(rank, data, 0, 0, device.handle());
      const double waited_s = device.drain_s();
      require(waited_s > 0.1, fmt::format("it was taken for received after {} s", waited_s));
    }
    check(rondo_finalize(rank.comm), rank.comm);
  }));
}

TEST_CASE("tags select messages, and a receipt describes the message") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with()), [](Rank& rank) {
    Device device(0);
    if (rank.rank == 2) {
      send(rank, device.ints(50, 21), 50, 0, nullptr, 1);
      send(rank, device.ints(60, 22), 60, 0, nullptr, 2);
    }
    if (rank.rank != 0) return;
    int64_t* const data = device.ints(60, -1);
    recv(rank, data, 60, 2, nullptr, 2);
    require(device.all_are(data, 60, 22), "tag 2");
    rondo_receipt_t receipt{};
    check(rondo_recv(data, 50, RONDO_INT64, RONDO_ANY_SOURCE, RONDO_ANY_TAG, rank.comm, nullptr, &receipt),
          rank.comm);
    require(device.all_are(data, 50, 21), "tag 1");
    require(receipt.source == 2 && receipt.tag == 1 && receipt.count == 50, "the receipt");
  }));
}

TEST_CASE("started messages of GPU memory wait for none that were started before, and keep their order") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  WorldOptions options = processes(2, {"cuda:0"}, folder.with());
  options.call_timeout_ms = 5000;
  expect_success(run_world(options, [](Rank& rank) {
    constexpr size_t kCounts[] = {300'000, 10, 10};
    Device device(0);
    std::vector<int64_t*> got;
    std::vector<int64_t*> sent;
    for (const size_t count : kCounts) {
      got.push_back(device.ints(count, -1));
      sent.push_back(device.ints(count, 10 * rank.rank + std::ssize(sent)));
    }
    std::vector<Started> requests(2 * got.size());
    for (size_t i = 0; i < got.size(); ++i)
      check(rondo_irecv(got[i], kCounts[i], RONDO_INT64, 1 - rank.rank, kTag, rank.comm, nullptr,
                        requests[i].out()),
            rank.comm);
    for (size_t i = 0; i < got.size(); ++i)
      check(rondo_isend(sent[i], kCounts[i], RONDO_INT64, 1 - rank.rank, kTag, rank.comm,
                        requests[got.size() + i].out()),
            rank.comm);
    for (const Started& request : requests) check(rondo_request_wait(request.get(), 0), rank.comm);
    for (size_t i = 0; i < got.size(); ++i)
      require(device.all_are(got[i], kCounts[i], 10 * (1 - rank.rank) + static_cast<int>(i)),
              "wrong content");
  }));
}

TEST_CASE("GPU memory is sent to host memory and back, also on a rank without a GPU") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const char* other : {"cuda:0", "host"})
    expect_success(run_world(processes(2, {"cuda:0", other}, folder.with()), [](Rank& rank) {
      for (const size_t count : {100u, 300'000u}) {
        if (rank.rank == 0) {
          Device device(0);
          send(rank, device.ints(count, 3), count, 1, device.handle());
          int64_t* const back = device.ints(count, -1);
          recv(rank, back, count, 1, device.handle());
          device.drain_s();
          require(device.all_are(back, count, 4), "what came back");
        } else {
          std::vector<int64_t> data(count, -1);
          recv(rank, data.data(), count, 0, nullptr);
          require(data == std::vector<int64_t>(count, 3), "what came");
          data.assign(count, 4);
          send(rank, data.data(), count, 0, nullptr);
        }
      }
    }));
}

TEST_CASE("captured messages can be replayed") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const size_t count : {500u, 200'001u})
    expect_success(run_world(processes(3, {"cuda:0"}, folder.with()), [&](Rank& rank) {
      constexpr int kReplays = 100;
      Device device(0);
      int64_t* const data = device.ints(count, rank.rank);
      int64_t* const came = device.ints(count, -1);
      const Graph graph(device.stream(), [&] {
        shift(rank, data, came, count, device.handle());
        require_ok(gpu::copy(data, came, count * sizeof *data, device.stream()));
      });
      for (int i = 0; i < kReplays; ++i) {
        graph.replay();
        if (i == 40) shift(rank, data, came, count, device.handle());
      }
      device.drain_s();
      const int from = (rank.rank + rank.size * kReplays - kReplays) % rank.size;
      require(device.all_are(data, count, from), "what went round");
    }));
}

TEST_CASE("a message whose length differs from its receive is reported to both ranks") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with()), [](Rank& rank) {
    Device device(0);
    int64_t* const data = device.ints(100, rank.rank);
    if (rank.rank == 0) send(rank, data, 99, 1, device.handle());
    const auto status = rank.rank == 0
                            ? rondo_barrier(rank.comm, nullptr)
                            : rondo_recv(data, 100, RONDO_INT64, 0, kTag, rank.comm, nullptr, nullptr);
    check_fails(status, RONDO_MISMATCH, {"send(count=99", "recv(count=100"}, rank.comm);
  }));
}

/// Rank 0's stream waits for a message that is never sent.
void wait_in_vain(const Rank& rank, const std::function<void()>& instead, rondo_status_t expected,
                  const std::vector<std::string>& words) {
  if (rank.rank == 1) {
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    return instead();
  }
  Device device(0);
  int64_t* const data = device.ints(400'000, 0);
  check(rondo_barrier(rank.comm, nullptr), rank.comm);  // making a device may take long
  recv(rank, data, 400'000, 1, device.handle());
  require(device.drain_s() < kSoon_s, "the stream kept waiting");
  check_fails(rondo_send(data, 1, RONDO_INT64, 1, kTag, rank.comm, device.handle()), expected, words,
              rank.comm);
}

TEST_CASE("a stream that waits for a message continues after an abort") {
  if (children_lack_gpus()) return;
  expect_success(run_world(processes(2, {"cuda:0"}), [](Rank& rank) {
    const auto instead = [&] {
      sleep_ms(50);
      check(rondo_abort(rank.comm));
    };
    wait_in_vain(rank, instead, RONDO_ABORTED, {"rank 1"});
  }));
}

TEST_CASE("a stream that waits for a message from a process that dies continues") {
  if (children_lack_gpus()) return;
  const auto outcomes = run_world(processes(2, {"cuda:0"}), [](Rank& rank) {
    const auto instead = [] {
      sleep_ms(50);
      ::raise(SIGKILL);
    };
    wait_in_vain(rank, instead, RONDO_REMOTE_ERROR, {"rank 1"});
  });
  INFO(outcomes[0].error);
  CHECK(outcomes[0].ok);
}

TEST_CASE("a stream that waits for a message from a rank that finalizes continues, and the rank is named") {
  if (children_lack_gpus()) return;
  expect_success(run_world(processes(2, {"cuda:0"}), [](Rank& rank) {
    const auto instead = [&] { require(rondo_finalize(rank.comm) == RONDO_MISMATCH, "finalize"); };
    wait_in_vain(rank, instead, RONDO_MISMATCH,
                 {"called recv(from 1", "rank 1 called rondo_finalize() instead"});
  }));
}

TEST_CASE("a stream that waits for a message continues at the deadline") {
  if (children_lack_gpus()) return;
  WorldOptions options = processes(2, {"cuda:0"});
  options.call_timeout_ms = 300;
  expect_success(run_world(options, [](Rank& rank) {
    const auto instead = [&] { require(failure_of(rank.comm, 10) == RONDO_TIMEOUT, "no timeout"); };
    wait_in_vain(rank, instead, RONDO_TIMEOUT, {"receive of GPU memory", "0.3 s"});
  }));
}

TEST_CASE("threads whose streams share a hardware queue are released at the deadline") {
  if (children_lack_gpus() || lacks_standin()) return;
  WorldOptions options = processes(2, {"cuda:0"});
  options.ranks_each = 2;
  options.call_timeout_ms = 500;
  options.environment.emplace_back("RONDO_STANDIN_QUEUES", "1");
  expect_success(run_world(options, [](Rank& rank) {
    static std::atomic<int> ready = 0;  // both ranks, and then rank 0's wait
    const auto wait_for = [](int count) {
      while (ready < count) sleep_ms(1);
    };
    Device device(0);
    int64_t* const data = device.ints(100, rank.rank);
    ++ready;
    wait_for(2);
    if (rank.rank == 0) {
      recv(rank, data, 100, 1, device.handle());
      ++ready;
    } else {
      wait_for(3);
      send(rank, data, 100, 0, device.handle());  // behind rank 0's wait
    }
    require(device.drain_s() < kSoon_s, "the stream kept waiting");
    require(failure_of(rank.comm, 10) == RONDO_TIMEOUT, "no timeout");
  }));
}

}  // namespace
}  // namespace rondo::test
