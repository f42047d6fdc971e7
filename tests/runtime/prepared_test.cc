// SPDX-License-Identifier: Apache-2.0
// Prepared calls: made again and again, in any manner, beside ordinary calls, and used wrongly.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "catch.h"
#include "exchange.h"
#include "prepared.h"
#include "worlds.h"

namespace rondo::test {
namespace {

template <typename Body>
void in_every_world(int nranks, Body&& body) {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, nranks), body));
  }
}

void recv_one(int& value, int peer, rondo_comm_t comm) {
  check(rondo_recv(&value, 1, RONDO_INT32, peer, 0, comm, nullptr, nullptr), comm);
}
void send_one(const int& value, int peer, rondo_comm_t comm) {
  check(rondo_send(&value, 1, RONDO_INT32, peer, 0, comm, nullptr), comm);
}
void sum_one(int& value, rondo_comm_t comm) {
  check(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, comm, nullptr), comm);
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST_CASE("a halo of four sends and four receives is exchanged in every step, with its receipts") {
  in_every_world(4, [](Rank& rank) {
    constexpr std::array<int, 4> kOffsets{1, 3, 2, 2};  // of the peer to which a message goes
    for (const size_t count : {size_t{3}, size_t{50'003}}) {
      std::array<std::vector<int>, 4> edges, halos;
      std::array<rondo_receipt_t, 4> receipts{};
      const Request halo = prepare([&] {
        for (size_t i = 0; i < kOffsets.size(); ++i) {
          edges[i].resize(count), halos[i].resize(count + 1);
          const int to = (rank.rank + kOffsets[i]) % 4, from = (rank.rank + 4 - kOffsets[i]) % 4;
          const int tag = static_cast<int>(i);
          check(rondo_send(edges[i].data(), count, RONDO_INT32, to, tag, rank.comm, nullptr), rank.comm);
          check(rondo_recv(halos[i].data(), count + 1, RONDO_INT32, from, tag, rank.comm, nullptr,
                           &receipts[i]),
                rank.comm);
        }
      });
      for (int step = 0; step < 30; ++step) {
        for (auto& edge : edges) edge.assign(count, rank.rank * 1000 + step);
        make(halo, step % 2 == rank.rank % 2);
        for (size_t i = 0; i < kOffsets.size(); ++i) {
          const int from = (rank.rank + 4 - kOffsets[i]) % 4;
          require(halos[i].front() == from * 1000 + step && halos[i][count - 1] == from * 1000 + step,
                  "wrong halo");
          require(receipts[i].source == from && receipts[i].tag == static_cast<int>(i) &&
                      receipts[i].count == count,
                  "wrong receipt");
          receipts[i] = {};
        }
      }
    }
  });
}

TEST_CASE("every collective, type and operation gives the same when it is prepared, and again") {
  const int nranks = GENERATE(1, 2, 3, 5);
  in_every_world(nranks, [](Rank& rank) {
    for (uint64_t i = 0; i < 40; ++i) {
      Trial trial = random_trial(9'000 + i, rank.size, 3'000);
      trial.in_place = trial.in_place && i % 2 == 0;
      Exchange exchange(rank, trial);
      const Request request = prepare([&] { check(exchange.start(), rank.comm); });
      const int times = trial.in_place ? 1 : 3;
      for (int n = 0; n < times; ++n) make(request, (i + static_cast<uint64_t>(n)) % 2 == 0);
      exchange.verify();
    }
  });
}

TEST_CASE("more calls can be prepared than plans are cached, and all of them work") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    constexpr size_t kCalls = 300;
    std::vector<int> values(kCalls + 1);
    std::vector<Request> requests;
    for (size_t count = 1; count <= kCalls; ++count)
      requests.push_back(prepare([&] {
        check(
            rondo_all_reduce(values.data(), values.data(), count, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
            rank.comm);
      }));
    for (size_t i = 0; i < kCalls; i += 37) {
      values.assign(values.size(), 1);
      make(requests[i], i % 2 == 0);
      require(values[i] == 2 && values[i + 1] == 1, "wrong sum");
    }
  }));
}

TEST_CASE("arrays of lengths, types and operations may go once a call is prepared") {
  in_every_world(3, [](Rank& rank) {
    std::vector<int> all(6, -1);
    const std::vector<int> own(static_cast<size_t>(rank.rank) + 1, rank.rank);
    int greatest = 0;
    rondo_op_t op = 0;
    const auto keep_greater = [](void* accumulator, const void* operand, size_t, rondo_type_t, void*) {
      int& kept = *static_cast<int*>(accumulator);
      kept = std::max(kept, *static_cast<const int*>(operand));
    };
    check(rondo_op_create(keep_greater, 1, nullptr, &op));
    const Request request = prepare([&] {
      std::vector<size_t> counts{1, 2, 3};
      check(
          rondo_all_gather_v(own.data(), all.data(), counts.data(), nullptr, RONDO_INT32, rank.comm, nullptr),
          rank.comm);
      check(rondo_all_reduce(&rank.rank, &greatest, 1, RONDO_INT32, op, rank.comm, nullptr), rank.comm);
      counts.assign(3, 1'000'000);
    });
    check(rondo_op_destroy(op));
    for (int n = 0; n < 3; ++n) {
      all.assign(6, -1), greatest = 0;
      make(request, n == 1);
      require(all == std::vector<int>{0, 1, 1, 2, 2, 2} && greatest == 2, "wrong result");
    }
  });
}

TEST_CASE("memory that peers read in place is prepared like any other") {
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [](Rank& rank) {
    constexpr size_t kCount = 500'000;
    void* memory = nullptr;
    check(rondo_mem_alloc(&memory, 2 * kCount * sizeof(int)));
    int* const from = static_cast<int*>(memory);
    int* const to = from + kCount;
    {
      const Request request = prepare([&] {
        check(rondo_all_reduce(from, to, kCount, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
        check(rondo_send(from, kCount, RONDO_INT32, (rank.rank + 1) % 3, 0, rank.comm, nullptr), rank.comm);
      });
      std::vector<int> got(kCount);
      for (int step = 1; step <= 6; ++step) {
        std::fill_n(from, kCount, step + rank.rank);
        if (step % 2 == 0) check(rondo_request_start(request.get()), rank.comm);
        const Request receive = started_receive(rank, got, (rank.rank + 2) % 3);
        check(step % 2 == 0 ? rondo_request_wait(request.get(), 0) : rondo_request_run(request.get()),
              rank.comm);
        check(rondo_request_wait(receive.get(), 0));
        require(to[0] == 3 * step + 3 && to[kCount - 1] == to[0], "wrong sum");
        require(got[0] == step + (rank.rank + 2) % 3 && got[kCount - 1] == got[0], "wrong message");
      }
    }
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    check(rondo_mem_free(memory));
  }));
}

TEST_CASE("calls keep their order on the communicator: on queues, started, and on the caller's thread") {
  in_every_world(3, [](Rank& rank) {
    const OwnedQueue queue;
    int value = 1;
    const Request doubles = prepare([&] { sum_one(value, rank.comm); });
    for (int round = 0; round < 5; ++round) {
      value = 1;
      check(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, rank.comm, queue.get()), rank.comm);
      check(rondo_request_start(doubles.get()), rank.comm);
      sum_one(value, rank.comm);
      require(value == 27, "not in order");
      check(rondo_request_query(doubles.get()));
      check(rondo_queue_synchronize(queue.get()));
    }
  });
}

TEST_CASE("what was started goes on while its rank does something else") {
  in_every_world(2, [](Rank& rank) {
    std::vector<int> values(300'000, 1);
    const Request sum = prepare([&] {
      check(rondo_all_reduce(values.data(), values.data(), values.size(), RONDO_INT32, RONDO_SUM, rank.comm,
                             nullptr),
            rank.comm);
    });
    check(rondo_request_start(sum.get()), rank.comm);
    rondo_status_t status = RONDO_IN_PROGRESS;
    for (int i = 0; i < 5000 && status == RONDO_IN_PROGRESS; ++i) {
      sleep_ms(1);
      status = rondo_request_query(sum.get());
    }
    check(status);
    require(values.front() == 2 && values.back() == 2, "wrong sum");
  });
}

TEST_CASE("a callback tells of one start, after which the calls may be started again") {
  in_every_world(2, [](Rank& rank) {
    const auto told = [](rondo_status_t status, const char*, void* user) {
      static_cast<std::atomic<int>*>(user)->fetch_add(status == RONDO_OK ? 1 : 1000);
    };
    std::atomic<int> count{0};
    int value = 1;
    const Request request = prepare([&] { sum_one(value, rank.comm); });
    for (int n = 1; n <= 5; ++n) {
      check(rondo_request_start(request.get()), rank.comm);
      check(rondo_request_tell(request.get(), told, &count));
      for (int i = 0; i < 5000 && count != n; ++i) sleep_ms(1);
      require(count == n, "told " + std::to_string(count) + " times");
    }
    require(value == 32, "wrong sum");
  });
}

TEST_CASE("an empty group is prepared, started, run and told of") {
  const Request request = prepare([] {});
  for (int n = 0; n < 3; ++n) {
    check(rondo_request_run(request.get()));
    check(rondo_request_start(request.get()));
    check_fails(rondo_request_start(request.get()), RONDO_INVALID_USAGE, {"have not been waited for"});
    check(rondo_request_wait(request.get(), 0));
  }
}

TEST_CASE("a group that cannot be prepared is refused, and nothing of it is made") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    rondo_request_t request = nullptr;
    int value = 1;
    check_fails(rondo_group_prepare(&request), RONDO_INVALID_USAGE, {"rondo_group_prepare", "R0610"});
    check(rondo_group_start());
    check_fails(rondo_group_prepare(nullptr), RONDO_INVALID_ARGUMENT, {"request is NULL"});
    sum_one(value, rank.comm);
    check(rondo_group_start());
    check_fails(rondo_group_prepare(&request), RONDO_INVALID_USAGE, {"within a group"}, rank.comm);
    check(rondo_group_end());
    check(rondo_group_end());  // the group is as it was
    require(value == 2, "the call of the enclosing group was not made");

    const Child other(rank);
    check(rondo_group_start());
    sum_one(value, rank.comm);
    sum_one(value, other.rank.comm);
    check_fails(rondo_group_prepare(&request), RONDO_INVALID_USAGE, {"one communicator", "R0618"}, rank.comm);
    const OwnedQueue queue;
    check(rondo_group_start());
    check(rondo_barrier(rank.comm, queue.get()), rank.comm);
    check_fails(rondo_group_prepare(&request), RONDO_INVALID_USAGE, {"must be NULL"}, rank.comm);
    check(rondo_group_start());
    check(rondo_send(&value, 1, RONDO_INT32, 0, 0, rank.comm, queue.get()), rank.comm);
    check_fails(rondo_group_prepare(&request), RONDO_INVALID_USAGE, {"must be NULL"}, rank.comm);
    check(rondo_group_start());
    check_fails(rondo_send(&value, 1, RONDO_INT32, 2, 0, rank.comm, nullptr), RONDO_INVALID_ARGUMENT,
                {"peer is 2"}, rank.comm);
    check_fails(rondo_group_prepare(&request), RONDO_INVALID_ARGUMENT, {"none was prepared", "peer is 2"},
                rank.comm);
    require(request == nullptr && value == 2, "something was made");
    check_fails(rondo_group_end(), RONDO_INVALID_USAGE, {"without a rondo_group_start"});
  }));
}

TEST_CASE("calls that are under way are neither started, run nor freed") {
  in_every_world(2, [](Rank& rank) {
    if (rank.rank == 1) {
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      for (int n = 0; n < 3; ++n) send_one(n, 0, rank.comm);
      return;
    }
    int value = -1;
    Request request = prepare([&] { recv_one(value, 1, rank.comm); });
    check(rondo_request_query(request.get()));  // never started
    check(rondo_request_wait(request.get(), 0));
    check(rondo_request_start(request.get()), rank.comm);
    require(rondo_request_query(request.get()) == RONDO_IN_PROGRESS, "it cannot have come yet");
    check_fails(rondo_request_start(request.get()), RONDO_INVALID_USAGE, {"under way", "R0618"}, rank.comm);
    check_fails(rondo_request_run(request.get()), RONDO_INVALID_USAGE, {"under way", "R0618"}, rank.comm);
    check_fails(rondo_request_free(request.get()), RONDO_INVALID_USAGE, {"under way", "R0618"});
    require(rondo_request_wait(request.get(), 10) == RONDO_IN_PROGRESS, "it cannot have come yet");
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    sleep_ms(20);
    const rondo_status_t again = rondo_request_start(request.get());
    require(again == RONDO_INVALID_USAGE, "started again before its result was reported");
    check(rondo_request_wait(request.get(), 0));
    require(value == 0, "wrong message");
    check(rondo_request_run(request.get()), rank.comm);
    check(rondo_request_start(request.get()), rank.comm);
    check(rondo_request_wait(request.get(), 0));
    require(value == 2, "wrong message");

    check(rondo_group_start());
    check_fails(rondo_request_start(request.get()), RONDO_INVALID_USAGE, {"not allowed within a group"},
                rank.comm);
    check_fails(rondo_request_run(request.get()), RONDO_INVALID_USAGE, {"not allowed within a group"},
                rank.comm);
    check(rondo_group_cancel());
    std::vector<int> got(1);
    const Request plain = started_send(rank, got, 0);
    check_fails(rondo_request_start(plain.get()), RONDO_INVALID_USAGE, {"not one from rondo_group_prepare"});
    check_fails(rondo_request_run(plain.get()), RONDO_INVALID_USAGE, {"not one from rondo_group_prepare"});
    check(rondo_recv(got.data(), 1, RONDO_INT32, 0, 5, rank.comm, nullptr, nullptr), rank.comm);
    check(rondo_request_wait(plain.get(), 0));
    const rondo_request_t freed = request.get();
    request.reset();
    check_fails(rondo_request_start(freed), RONDO_INVALID_ARGUMENT, {"R0604"});
    check_fails(rondo_request_start(nullptr), RONDO_INVALID_ARGUMENT, {"request is NULL"});
  });
}

TEST_CASE("any thread may start and wait in its turn; a second one that interferes is refused") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    const Child beside(rank);
    if (rank.rank == 1) {
      int one = 1, tried = 0;
      sum_one(one, rank.comm);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      recv_one(tried, 0, beside.rank.comm);
      send_one(7, 0, rank.comm);
      return;
    }
    int value = 1;
    const Request sum = prepare([&] { sum_one(value, rank.comm); });
    std::thread([&] { check(rondo_request_start(sum.get())); }).join();
    std::thread([&] { check(rondo_request_wait(sum.get(), 0)); }).join();
    require(value == 2, "wrong sum");

    const Request receive = prepare([&] { recv_one(value, 1, rank.comm); });
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    std::array<rondo_status_t, 3> refused{};
    std::thread other([&] {
      sleep_ms(100);
      refused = {rondo_request_run(receive.get()), rondo_request_start(receive.get()),
                 rondo_request_free(receive.get())};
      send_one(1, 1, beside.rank.comm);
    });
    check(rondo_request_run(receive.get()), rank.comm);
    other.join();
    require(value == 7, "wrong message");
    for (const rondo_status_t status : refused)
      require(status == RONDO_INVALID_USAGE, std::string("not refused: ") + rondo_status_string(status));
  }));
}

TEST_CASE("ranks that disagree are told at the start, prepared or not") {
  for (const bool starts : {true, false}) {
    INFO((starts ? "started" : "run"));
    expect_success(run_world({.nranks = 2, .transport = "shm"}, [starts](Rank& rank) {
      int value = 1;
      const Request sum = prepare([&] { sum_one(value, rank.comm); });
      const Request product = prepare([&] {
        check(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_PROD, rank.comm, nullptr), rank.comm);
      });
      make(sum, starts);
      make(product, !starts);
      require(value == 4, "wrong result");
      const rondo_status_t status = outcome_of(rank.rank == 0 ? sum : product, starts);
      check_fails(status, RONDO_MISMATCH, {"all_reduce", "sum", "prod"}, rank.comm);
      check_fails(rondo_request_start(sum.get()), RONDO_MISMATCH, {"all_reduce"}, rank.comm);
      check_fails(rondo_request_run(product.get()), RONDO_MISMATCH, {"all_reduce"}, rank.comm);
    }));
  }
}

TEST_CASE("a rank that does not come is named at the deadline") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    if (rank.rank == 1) {
      sleep_ms(1500);
      return;
    }
    check(rondo_set_timeout(rank.comm, 300), rank.comm);
    int value = 1;
    const Request sum = prepare([&] { sum_one(value, rank.comm); });
    check(rondo_request_start(sum.get()), rank.comm);
    check_fails(rondo_request_wait(sum.get(), 0), RONDO_TIMEOUT, {"all_reduce", "rank 1"});
    check_fails(rondo_request_start(sum.get()), RONDO_TIMEOUT, {"rank 1"}, rank.comm);
  }));
}

TEST_CASE("an abort ends what was started, and starting and running fail from then on") {
  in_every_world(2, [](Rank& rank) {
    const Child child(rank);
    const rondo_comm_t comm = child.rank.comm;
    int value = 1, got = 0;
    const Request sum = prepare([&] { sum_one(value, comm); });
    const Request receive = prepare([&] { recv_one(got, 1 - rank.rank, comm); });
    check(rondo_request_start(receive.get()), comm);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 1) check(rondo_abort(comm));
    if (rank.rank == 0) check_fails(outcome_of(sum, true), RONDO_ABORTED, {"rondo_abort"});
    check_fails(rondo_request_wait(receive.get(), 0), RONDO_ABORTED, {"rondo_abort"});
    check_fails(rondo_request_start(receive.get()), RONDO_ABORTED, {"rondo_abort"}, comm);
    check_fails(rondo_request_run(sum.get()), RONDO_ABORTED, {"rondo_abort"}, comm);
    check(rondo_group_start());
    check_fails(rondo_barrier(comm, nullptr), RONDO_ABORTED, {}, comm);
    rondo_request_t none = nullptr;
    check_fails(rondo_group_prepare(&none), RONDO_ABORTED, {"none was prepared"}, comm);
  });
}

TEST_CASE("after a shrink the calls are prepared anew, and the old ones tell why they fail") {
  expect_success(run_world({.nranks = 3, .threads = true}, [](Rank& rank) {
    int value = 1;
    const Child child(rank);
    const Request old = prepare([&] { sum_one(value, child.rank.comm); });
    make(old, false);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);  // or it might end before it is done everywhere
    const int excluded = 2;
    if (rank.rank == excluded) check(rondo_abort(child.rank.comm));
    check_fails(outcome_of(old, rank.rank == 0), RONDO_ABORTED, {});
    if (rank.rank == excluded) return;
    Owned rest;
    check(rondo_shrink(child.rank.comm, &excluded, 1, rest.out(), nullptr), child.rank.comm);
    value = 1;
    check_fails(rondo_request_start(old.get()), RONDO_ABORTED, {}, child.rank.comm);
    const Request anew = prepare([&] { sum_one(value, rest.get()); });
    for (int n = 0; n < 3; ++n) make(anew, n % 2 == 0);
    require(value == 8, "wrong sum");
  }));
}

TEST_CASE("calls on a communicator that was finalized or destroyed are refused, and can be freed") {
  for (const bool destroys : {true, false}) {
    INFO((destroys ? "destroyed" : "finalized"));
    expect_success(run_world({.nranks = 2, .threads = true}, [destroys](Rank& rank) {
      int value = 1, got = 0;
      Child child(rank);
      const Request sum = prepare([&] { sum_one(value, child.rank.comm); });
      const Request ring = prepare([&] {
        send_one(rank.rank, 1 - rank.rank, child.rank.comm);
        recv_one(got, 1 - rank.rank, child.rank.comm);
      });
      make(sum, true);
      make(ring, true);
      check(rondo_request_start(sum.get()), child.rank.comm);  // which the end completes
      if (destroys)
        check(rondo_destroy(std::exchange(*child.comm.out(), nullptr)));
      else
        check(rondo_finalize(child.rank.comm), child.rank.comm);
      check(rondo_request_wait(sum.get(), 0));
      require(value == 4 && got == 1 - rank.rank, "wrong result");
      for (const rondo_request_t request : {sum.get(), ring.get()}) {
        check_fails(rondo_request_start(request), RONDO_INVALID_USAGE, {"was finalized", "R0609"});
        check_fails(rondo_request_run(request), RONDO_INVALID_USAGE, {"was finalized", "R0609"});
        check(rondo_request_query(request));
      }
    }));
  }
}

TEST_CASE("a started message that is not received by the end fails, and its request can be freed") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    const Child child(rank);
    int value = 0;
    const Request receive = prepare([&] { recv_one(value, 1 - rank.rank, child.rank.comm); });
    check(rondo_request_start(receive.get()), child.rank.comm);
    check(rondo_finalize(child.rank.comm), child.rank.comm);
    check_fails(rondo_request_wait(receive.get(), 0), RONDO_INVALID_USAGE,
                {"before the message was complete"});
  }));
}

}  // namespace
}  // namespace rondo::test
