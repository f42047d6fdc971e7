// SPDX-License-Identifier: Apache-2.0
// Queues and events: the order of a queue, waits across queues, errors, and the end with work pending.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "catch.h"
#include "exchange.h"
#include "oracle.h"
#include "worlds.h"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

/// An operation that blocks until released: a call with it stays pending for as long as a test wants.
struct Gate {
  std::atomic<bool> open{false};
  rondo_op_t op = 0;
  Gate() {
    check(rondo_op_create(
        [](void*, const void*, size_t, rondo_type_t, void* user) {
          while (!static_cast<Gate*>(user)->open) std::this_thread::sleep_for(1ms);
        },
        1, this, &op));
  }
  ~Gate() { rondo_op_destroy(op); }
};

/// A communicator with both of its ranks in one thread, since a reduction needs both.
struct Pair : LocalRanks {
  explicit Pair(int64_t timeout_ms = 30'000) : LocalRanks(2, config_of(timeout_ms)) {}
  static rondo_config_t config_of(int64_t timeout_ms) {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.timeout_ms = timeout_ms;
    return config;
  }
  void all_reduce(std::array<int, 2>& values, rondo_op_t op, rondo_stream_t queue) const {
    check(rondo_group_start());
    for (size_t i = 0; i < 2; ++i)
      check(rondo_all_reduce(&values[i], &values[i], 1, RONDO_INT32, op, comms[i], queue));
    check(rondo_group_end());
  }
};

TEST_CASE("a call on a queue returns before it is done") {
  const Pair pair;
  Gate gate;
  const OwnedQueue queue;
  std::array<int, 2> values{};
  pair.all_reduce(values, gate.op, queue.get());
  CHECK(rondo_queue_query(queue.get()) == RONDO_IN_PROGRESS);
  gate.open = true;
  CHECK(rondo_queue_synchronize(queue.get()) == RONDO_OK);
  CHECK(rondo_queue_query(queue.get()) == RONDO_OK);
}

TEST_CASE("calls on a queue run in order, each on the results of the one before") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      const OwnedQueue queue;
      std::vector<int64_t> value(1000, rank.rank + 1);
      for (int i = 0; i < 20; ++i)
        check(rondo_all_reduce(value.data(), value.data(), value.size(), RONDO_INT64, RONDO_SUM, rank.comm,
                               queue.get()),
              rank.comm);
      check(rondo_queue_synchronize(queue.get()));
      int64_t expected = 6;
      for (int i = 1; i < 20; ++i) expected *= 3;
      for (const int64_t one : value) require(one == expected, "wrong sum");
    }));
  }
}

TEST_CASE("any mix of calls, on several queues and on none, is right on one communicator") {
  for (const Way& way : kWays) {
    const Environment slots("RONDO_SLOT_BYTES", "512");
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      const std::array<OwnedQueue, 3> queues;
      std::vector<std::unique_ptr<Exchange>> exchanges;
      for (uint64_t seed = 3000; seed < 3060; ++seed) {
        exchanges.push_back(std::make_unique<Exchange>(rank, random_trial(seed, rank.size, 1000)));
        const uint64_t which = mix(seed) % 4;
        check(exchanges.back()->start(which == 3 ? nullptr : queues[which].get()), rank.comm);
        if (which == 3) exchanges.back()->verify();
      }
      for (const OwnedQueue& queue : queues) check(rondo_queue_synchronize(queue.get()));
      for (auto& exchange : exchanges) exchange->verify();
    }));
  }
}

TEST_CASE("several communicators on several queues work on ranks that issue calls in different orders") {
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [](Rank& rank) {
    std::array<Owned, 3> comms;
    for (Owned& comm : comms) check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
    const std::array<OwnedQueue, 3> queues;
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (uint64_t i = 0; i < 30; ++i) {
      // Each communicator has its own queue, so that none waits for another.
      const size_t which = (i + static_cast<size_t>(rank.rank)) % 3;
      exchanges.push_back(
          std::make_unique<Exchange>(Rank{comms[which].get(), rank.rank, rank.size},
                                     random_trial(4000 + which * 100 + i / 3, rank.size, 500)));
      check(exchanges.back()->start(queues[which].get()), comms[which].get());
    }
    for (const OwnedQueue& queue : queues) check(rondo_queue_synchronize(queue.get()));
    for (auto& exchange : exchanges) exchange->verify();
  }));
}

TEST_CASE("receipts of queued receives are written when the queue is done") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    const OwnedQueue queue;
    std::array<int, 3> values{};
    rondo_receipt_t receipt{-5, -5, 55};
    if (rank.rank == 0)
      check(rondo_send(values.data(), 2, RONDO_INT32, 1, 6, rank.comm, queue.get()), rank.comm);
    else
      check(rondo_recv(values.data(), 3, RONDO_INT32, RONDO_ANY_SOURCE, RONDO_ANY_TAG, rank.comm, queue.get(),
                       &receipt),
            rank.comm);
    check(rondo_queue_synchronize(queue.get()));
    if (rank.rank == 1)
      require(receipt.source == 0 && receipt.tag == 6 && receipt.count == 2, "wrong receipt");
  }));
}

TEST_CASE("an event completes when everything before it has, and no sooner") {
  const Pair pair;
  Gate gate;
  const OwnedQueue queue;
  const OwnedEvent event;
  int value = 1;
  CHECK(rondo_event_query(event.get()) == RONDO_OK);  // never recorded
  CHECK(rondo_event_synchronize(event.get()) == RONDO_OK);
  std::array<int, 2> values{};
  pair.all_reduce(values, gate.op, queue.get());
  check(rondo_event_record(event.get(), queue.get()));
  CHECK(rondo_event_query(event.get()) == RONDO_IN_PROGRESS);
  std::thread waiter([&] {
    rondo_event_synchronize(event.get());
    value = gate.open ? 2 : 3;
  });
  std::this_thread::sleep_for(20ms);
  gate.open = true;
  waiter.join();
  CHECK(value == 2);
  CHECK(rondo_event_query(event.get()) == RONDO_OK);
}

/// A reduction on one queue waits for those on another.
TEST_CASE("a queue waits for another queue's event as it was recorded at that time") {
  const Pair first;
  const Pair second;
  Gate gate;
  const OwnedQueue a;
  const OwnedQueue b;
  const OwnedEvent event;
  std::array<int, 2> values{1, 2};
  std::array<int, 2> copies{};
  const auto call = [](const auto& body) {
    check(rondo_group_start());
    for (size_t i = 0; i < 2; ++i) check(body(i));
    check(rondo_group_end());
  };
  call([&](size_t i) {
    return rondo_all_reduce(&values[i], &values[i], 1, RONDO_INT32, gate.op, first.comms[i], a.get());
  });
  call([&](size_t i) {
    return rondo_all_reduce(&values[i], &values[i], 1, RONDO_INT32, RONDO_SUM, first.comms[i], a.get());
  });
  check(rondo_event_record(event.get(), a.get()));
  check(rondo_queue_wait_event(b.get(), event.get()));
  call([&](size_t i) {
    return rondo_all_reduce(&values[i], &copies[i], 1, RONDO_INT32, RONDO_MAX, second.comms[i], b.get());
  });
  std::this_thread::sleep_for(20ms);
  CHECK(rondo_queue_query(b.get()) == RONDO_IN_PROGRESS);
  check(rondo_event_record(event.get(), b.get()));  // recorded again: b still waits for the first record
  gate.open = true;
  check(rondo_event_synchronize(event.get()));
  CHECK(copies[0] == copies[1]);
  CHECK(copies[0] == values[0]);
  CHECK(rondo_queue_synchronize(a.get()) == RONDO_OK);
  CHECK(rondo_queue_synchronize(b.get()) == RONDO_OK);
}

TEST_CASE("an event may be destroyed while queues still wait for it") {
  const Pair pair;
  Gate gate;
  const OwnedQueue a;
  const OwnedQueue b;
  std::array<int, 2> values{};
  {
    const OwnedEvent event;
    check(rondo_group_start());
    for (size_t i = 0; i < 2; ++i)
      check(rondo_all_reduce(&values[i], &values[i], 1, RONDO_INT32, gate.op, pair.comms[i], a.get()));
    check(rondo_group_end());
    check(rondo_event_record(event.get(), a.get()));
    check(rondo_queue_wait_event(b.get(), event.get()));
  }
  CHECK(rondo_queue_query(b.get()) == RONDO_IN_PROGRESS);
  gate.open = true;
  CHECK(rondo_queue_synchronize(b.get()) == RONDO_OK);
}

TEST_CASE("destroying a queue completes its work first") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    std::vector<int> values(50'000, 1);
    {
      const OwnedQueue queue;
      for (int i = 0; i < 10; ++i)
        check(rondo_all_reduce(values.data(), values.data(), values.size(), RONDO_INT32, RONDO_SUM, rank.comm,
                               queue.get()),
              rank.comm);
    }
    require(values.front() == 1024 && values.back() == 1024, "the queue's work was not completed");
  }));
}

TEST_CASE("finalizing or destroying a communicator completes its queued calls first") {
  for (const Way& way : kWays) {
    for (const bool finalize : {true, false}) {
      INFO(way.transport << (finalize ? ", finalized" : ", destroyed"));
      expect_success(run_world(world_of(way, 2), [finalize](Rank& rank) {
        std::vector<int> values(20'000, 1);
        const OwnedQueue queue;
        Owned child;
        check(rondo_duplicate(rank.comm, child.out()), rank.comm);
        for (int i = 0; i < 10; ++i)
          check(rondo_all_reduce(values.data(), values.data(), values.size(), RONDO_INT32, RONDO_SUM,
                                 child.get(), queue.get()),
                child.get());
        check(finalize ? rondo_finalize(child.get()) : rondo_destroy(std::exchange(*child.out(), nullptr)));
        require(values.front() == 1024 && values.back() == 1024, "queued calls were not completed");
        check(rondo_queue_synchronize(queue.get()));
      }));
    }
  }
}

TEST_CASE("a split runs after the calls that are queued before it") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    const OwnedQueue queue;
    std::vector<int> values(20'000, 1);
    for (int round = 0; round < 5; ++round) {
      check(rondo_all_reduce(values.data(), values.data(), values.size(), RONDO_INT32, RONDO_SUM, rank.comm,
                             queue.get()),
            rank.comm);
      Owned child;
      check(rondo_duplicate(rank.comm, child.out()), rank.comm);
      check(rondo_barrier(child.get(), nullptr), child.get());
    }
    check(rondo_queue_synchronize(queue.get()));
    require(values.front() == 32, "wrong sum");
  }));
}

TEST_CASE("a queue reports its first error at the next synchronization, then works on") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    Owned bad;
    check(rondo_duplicate(rank.comm, bad.out()), rank.comm);
    const OwnedQueue queue;
    std::array<int, 2> values{};
    const size_t count = rank.rank == 0 ? 1 : 2;
    check(
        rondo_all_reduce(values.data(), values.data(), count, RONDO_INT32, RONDO_SUM, bad.get(), queue.get()),
        bad.get());
    check_fails(rondo_queue_synchronize(queue.get()), RONDO_MISMATCH,
                {"all_reduce(count=1", "all_reduce(count=2"});
    rondo_status_t status = RONDO_OK;
    check(rondo_async_error(bad.get(), &status));
    require(status == RONDO_MISMATCH, "the communicator does not know of the failure");
    int sum = 1;
    check(rondo_all_reduce(&sum, &sum, 1, RONDO_INT32, RONDO_SUM, rank.comm, queue.get()), rank.comm);
    check(rondo_queue_synchronize(queue.get()));
    require(sum == 2, "wrong sum");
  }));
}

TEST_CASE("a call that waits for its turn behind one that fails, fails with it") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 3, .transport = transport}, [](Rank& rank) {
      const OwnedQueue queue;
      std::array<int, 2> values{};
      const auto broadcast = [&] {  // which its root need not wait for
        return rondo_broadcast(values.data(), values.data(), 2, RONDO_INT32, 0, rank.comm, nullptr);
      };
      for (int i = 0; i < 3; ++i) check(broadcast(), rank.comm);  // from now on its plan is there
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      rondo_status_t heard = RONDO_OK;
      while (rank.rank != 0 && heard == RONDO_OK) check(rondo_async_error(rank.comm, &heard), rank.comm);
      if (rank.rank != 0) return;
      check(rondo_set_timeout(rank.comm, 300), rank.comm);
      check(rondo_all_reduce(values.data(), values.data(), 2, RONDO_INT32, RONDO_SUM, rank.comm, queue.get()),
            rank.comm);
      check_fails(broadcast(), RONDO_TIMEOUT, {"all_reduce(count=2"}, rank.comm);
    }));
  }
}

TEST_CASE("a wrong call is refused before it waits for queued calls") {
  const Pair pair;
  Gate gate;
  const OwnedQueue queue;
  std::array<int, 2> values{};
  pair.all_reduce(values, gate.op, queue.get());
  CHECK(rondo_all_reduce(nullptr, &values[0], 1, RONDO_INT32, RONDO_SUM, pair.comms[0], nullptr) ==
        RONDO_INVALID_ARGUMENT);
  CHECK(rondo_queue_query(queue.get()) == RONDO_IN_PROGRESS);
  CHECK(std::string(rondo_last_error(pair.comms[1])).empty());  // nothing has failed there
  gate.open = true;
  CHECK(rondo_queue_synchronize(queue.get()) == RONDO_OK);
}

TEST_CASE("the text of a call that was refused on a queue is its communicator's last error") {
  const WorldOptions world{.nranks = 3, .algorithm = "gather=binomial", .threads = true};
  expect_success(run_world(world, [](Rank& rank) {
    std::array<int, 3> all{};
    const std::array<size_t, 3> counts{1, 1, 1};
    for (const bool asks : {false, true}) {
      const OwnedQueue queue;
      check(rondo_gather_v(&rank.rank, 1, all.data(), counts.data(), nullptr, RONDO_INT32, 0, rank.comm,
                           queue.get()),
            rank.comm);
      rondo_status_t status = asks ? RONDO_IN_PROGRESS : rondo_queue_synchronize(queue.get());
      while (status == RONDO_IN_PROGRESS) status = rondo_queue_query(queue.get());
      check_fails(status, RONDO_UNSUPPORTED, {"gather by binomial", "different lengths"}, rank.comm);
      int sum = 1;
      check(rondo_all_reduce(&sum, &sum, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
      require(sum == 3, "wrong sum");
    }
  }));
}

TEST_CASE("a group on two queues keeps its place in both") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned other;
      check(rondo_duplicate(rank.comm, other.out()), rank.comm);
      const OwnedQueue a;
      const OwnedQueue b;
      for (int round = 0; round < 10; ++round) {
        int64_t x = rank.rank + 1;
        int64_t y = rank.rank + 1;
        // Each rank lists the two halves of the group in a different order.
        check(rondo_group_start());
        for (int i = 0; i < 2; ++i) {
          const bool first = (i + rank.rank) % 2 == 0;
          int64_t& value = first ? x : y;
          check(rondo_all_reduce(&value, &value, 1, RONDO_INT64, RONDO_SUM, first ? rank.comm : other.get(),
                                 first ? a.get() : b.get()));
        }
        check(rondo_group_end());
        // Sums what the group left on the other queue, so it must run after the whole group.
        check(rondo_all_reduce(&y, &x, 1, RONDO_INT64, RONDO_SUM, rank.comm, a.get()), rank.comm);
        check(rondo_queue_synchronize(a.get()));
        require(x == 6, "the call after the group did not see the other queue's half");
      }
      check(rondo_queue_synchronize(b.get()));
    }));
  }
}

TEST_CASE("a group with calls both on a queue and without one waits for those without") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    Owned other;
    check(rondo_duplicate(rank.comm, other.out()), rank.comm);
    const OwnedQueue queue;
    int here = 1;
    int there = 2;
    check(rondo_group_start());
    check(rondo_all_reduce(&here, &here, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
    check(rondo_all_reduce(&there, &there, 1, RONDO_INT32, RONDO_SUM, other.get(), queue.get()), other.get());
    check(rondo_group_end());
    require(here == 2, "the group ended before its blocking call");
    check(rondo_queue_synchronize(queue.get()));
    require(there == 4, "wrong sum on the queue");
  }));
}

}  // namespace
}  // namespace rondo::test
