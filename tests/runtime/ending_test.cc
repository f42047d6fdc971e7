// SPDX-License-Identifier: Apache-2.0
// Which ranks one waits for when it ends its communicators, and which learn of a death after some have left.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "catch.h"
#include "worlds.h"

namespace rondo::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kAtOnce{1000};  // to the accuracy of a loaded machine
constexpr int64_t kTimeout_ms = 1500;

/// Runs `body` on every rank of a world of processes and of one of threads.
void in_both_worlds(int nranks, const Body& body) {
  for (const bool threads : {false, true}) {
    INFO((threads ? "threads" : "processes"));
    expect_success(run_world({.nranks = nranks, .threads = threads, .call_timeout_ms = kTimeout_ms}, body));
  }
}

void end(rondo_comm_t& comm) {
  const auto begin = Clock::now();
  check(rondo_destroy(std::exchange(comm, nullptr)));
  require(Clock::now() - begin < kAtOnce, "rondo_destroy() took long");
}

void work_for(std::chrono::milliseconds time, const Owned& comm) {
  // Timed by rank 0 alone, so that all ranks make the same number of calls.
  for (int go_on = 1; go_on != 0;) {
    const auto begin = Clock::now();
    ::usleep(10'000);
    time -= std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    go_on = time.count() > 0 ? 1 : 0;
    check(rondo_broadcast(&go_on, &go_on, 1, RONDO_INT32, 0, comm.get(), nullptr), comm.get());
  }
}

void split_in_two(rondo_comm_t comm, int rank, Owned& part) {
  check(rondo_split(comm, rank < 2 ? 0 : RONDO_NO_COLOR, 0, part.out(), nullptr), comm);
}

TEST_CASE("no rank waits for ranks that work on in another communicator") {
  in_both_worlds(3, [](Rank& rank) {
    Owned part;
    split_in_two(rank.comm, rank.rank, part);
    end(rank.comm);
    if (rank.rank == 2) return;
    work_for(std::chrono::milliseconds(kTimeout_ms + 300), part);
    end(*part.out());
  });
}

TEST_CASE("communicators of separate starts are ended in any order") {
  in_both_worlds(3, [](Rank& rank) {
    Owned again;
    check(rondo_shrink(rank.comm, nullptr, 0, again.out(), nullptr), rank.comm);
    Owned part;
    split_in_two(again.get(), rank.rank, part);
    if (rank.rank == 1) std::swap(rank.comm, *again.out());
    end(*again.out());
    end(rank.comm);
    if (rank.rank == 2) return;
    work_for(std::chrono::milliseconds(100), part);
    end(*part.out());
  });
}

TEST_CASE("a rank that does not reach the end is named, with what it is doing") {
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [](Rank& rank) {
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 2) {
      rondo_status_t failed = RONDO_OK;
      while (failed == RONDO_OK) check(rondo_async_error(rank.comm, &failed));
      return;
    }
    check(rondo_set_timeout(rank.comm, 400), rank.comm);
    check_fails(rondo_finalize(rank.comm), RONDO_TIMEOUT,
                {"rank 2 (", "has not called rondo_finalize() within 0.4 s", "its last call was barrier"},
                rank.comm);
  }));
}

/// The control tree of 12 ranks on one host: rank 0 is the parent of 1 to 8, and rank 1 of 9 to 11.
TEST_CASE(
    "a death is reported to all remaining ranks after the control tree's root and an inner rank have left") {
  constexpr int kLeaving = 2;
  constexpr int kVictim = 11;
  const Shared<std::atomic<int>> arrived;
  const auto outcomes = run_world({.nranks = 12, .transport = "shm"}, [&](Rank& rank) {
    Owned part;
    const bool leaves = rank.rank < kLeaving;
    check(rondo_split(rank.comm, leaves ? RONDO_NO_COLOR : 0, 0, part.out(), nullptr), rank.comm);
    check(rondo_destroy(std::exchange(rank.comm, nullptr)));
    if (leaves) {
      ++*arrived;
      return;
    }
    check(rondo_barrier(part.get(), nullptr), part.get());
    ::usleep(300'000);  // the leaving ranks are gone by then
    check(rondo_barrier(part.get(), nullptr), part.get());
    await_all(rank, *arrived);
    const auto begin = Clock::now();
    if (rank.rank == kVictim) ::kill(::getpid(), SIGKILL);
    rondo_status_t failed = RONDO_OK;  // no collective, which could notice the death itself
    while (failed == RONDO_OK && Clock::now() - begin < std::chrono::seconds(2)) {
      check(rondo_async_error(part.get(), &failed));
      ::usleep(1000);
    }
    require(failed == RONDO_REMOTE_ERROR && Clock::now() - begin < kAtOnce,
            "the death was not reported in time");
    check_fails(rondo_barrier(part.get(), nullptr), RONDO_REMOTE_ERROR, {"rank 11 ("}, part.get());
  });
  for (int rank = 0; rank < 12; ++rank) {
    INFO("rank " << rank << ": " << outcomes[static_cast<size_t>(rank)].error);
    CHECK(outcomes[static_cast<size_t>(rank)].ok == (rank != kVictim));
  }
}

TEST_CASE("calls that need a rank that has left the communicator fail within seconds, and no others") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 3, .transport = transport}, [](Rank& rank) {
      Owned kept;
      check(rondo_duplicate(rank.comm, kept.out()), rank.comm);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      int sum = 0;
      if (rank.rank == 1) ::usleep(2'500'000);  // rank 2 has left by then, but took part in the call
      check(rondo_reduce(&rank.rank, &sum, 1, RONDO_INT32, RONDO_SUM, 0, rank.comm, nullptr), rank.comm);
      const auto begin = Clock::now();
      if (rank.rank == 2) {
        check(rondo_leave(std::exchange(rank.comm, nullptr)));
      } else {
        check_fails(rondo_barrier(rank.comm, nullptr), RONDO_REMOTE_ERROR, {"rank 2 "}, rank.comm);
        require(Clock::now() - begin < std::chrono::seconds(15), "the loss was noticed late");
        check(rondo_destroy(std::exchange(rank.comm, nullptr)));
      }
      check(rondo_barrier(kept.get(), nullptr), kept.get());
    }));
  }
}

TEST_CASE("a receive from any source fails once all that could send have left") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 2, .transport = transport}, [](Rank& rank) {
      Owned left;
      check(rondo_duplicate(rank.comm, left.out()), rank.comm);
      int got = 0;
      if (rank.rank == 1) {
        check(rondo_send(&got, 1, RONDO_INT32, 0, 5, left.get(), nullptr), left.get());
        ::usleep(300'000);
        check(rondo_leave(std::exchange(*left.out(), nullptr)));
      } else {
        check(rondo_recv(&got, 1, RONDO_INT32, RONDO_ANY_SOURCE, 5, left.get(), nullptr, nullptr),
              left.get());
        check_fails(rondo_recv(&got, 1, RONDO_INT32, RONDO_ANY_SOURCE, 6, left.get(), nullptr, nullptr),
                    RONDO_REMOTE_ERROR, {"rank 1"}, left.get());
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("a rank that quiesces a communicator and then leaves it has not finalized it") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    Owned quiesced;
    Owned left;
    for (Owned* one : {&quiesced, &left}) {
      check(rondo_duplicate(rank.comm, one->out()), rank.comm);
      if (rank.rank == 1) check(rondo_quiesce(one->get()));
    }
    if (rank.rank == 1) check(rondo_leave(std::exchange(*left.out(), nullptr)));
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 0) {
      check_fails(rondo_barrier(quiesced.get(), nullptr), RONDO_MISMATCH,
                  {"rank 1 called rondo_quiesce() instead"}, quiesced.get());
      int got = 0;
      check_fails(rondo_recv(&got, 1, RONDO_INT32, 1, 5, left.get(), nullptr, nullptr), RONDO_REMOTE_ERROR,
                  {"rank 1 (", "has called rondo_leave(), and rank 0 waits for it"}, left.get());
    }
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

TEST_CASE("ranks that leave together, lowest first, do not look dead to the ranks that work on") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 12, .transport = transport}, [](Rank& rank) {
      rondo_comm_t at = std::exchange(rank.comm, nullptr);
      for (int lowest = 0; at != nullptr; lowest += 3) {
        Owned left;
        const bool stays = rank.rank >= lowest + 3;
        check(rondo_split(at, stays ? 0 : RONDO_NO_COLOR, 0, left.out(), nullptr), at);
        check(lowest % 2 == 0 ? rondo_destroy(at) : rondo_leave(at));
        at = std::exchange(*left.out(), nullptr);
        if (at == nullptr) continue;
        check(rondo_barrier(at, nullptr), at);
        ::usleep(20'000);  // the leaving ranks are gone by then
      }
    }));
  }
}

}  // namespace
}  // namespace rondo::test
