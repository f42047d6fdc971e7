// SPDX-License-Identifier: Apache-2.0
// The remaining ranks continue: rondo_shrink(), rondo_leave() and rondo_group_cancel().
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "catch.h"
#include "exchange.h"
#include "worlds.h"

namespace rondo::test {
namespace {

Rank member(rondo_comm_t comm) {
  Rank made{comm, -1, 0};
  check(rondo_rank(comm, &made.rank));
  check(rondo_size(comm, &made.size));
  return made;
}

/// Shrinks by the excluded ranks and checks the caller's new rank and size.
void shrink_to(rondo_comm_t comm, const std::vector<int>& excluded, Owned& left, int rank, int size) {
  check(rondo_shrink(comm, excluded.data(), static_cast<int>(excluded.size()), left.out(), nullptr), comm);
  const Rank now = member(left.get());
  require(now.rank == rank && now.size == size, "wrong rank or size");
  run_trial(now, {.count = 100});
}

TEST_CASE("the remaining ranks make a communicator, again and again, down to one") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 4), [](Rank& rank) {
      std::vector<std::unique_ptr<Owned>> levels;
      rondo_comm_t at = rank.comm;
      for (int size = 4; size > 1 && rank.rank >= 4 - size + 1; --size) {
        levels.push_back(std::make_unique<Owned>());
        shrink_to(at, {0}, *levels.back(), rank.rank - (4 - size) - 1, size - 1);
        at = levels.back()->get();
      }
    }));
  }
}

TEST_CASE("after an abort all ranks meet again, and the aborted communicator stays aborted") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      if (rank.rank == 1) check(rondo_abort(rank.comm));
      while (rondo_barrier(rank.comm, nullptr) == RONDO_OK) continue;
      Owned again;
      shrink_to(rank.comm, {}, again, rank.rank, 3);
      require(rondo_barrier(rank.comm, nullptr) == RONDO_ABORTED, "the old one works again");
    }));
  }
}

TEST_CASE("after the death of any rank the others shrink and leave") {
  for (int victim = 0; victim < 4; ++victim) {
    INFO("victim " << victim);
    const auto outcomes = run_world({.nranks = 4, .transport = "shm"}, [victim](Rank& rank) {
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      if (rank.rank == victim) {
        ::usleep(20'000);
        ::kill(::getpid(), SIGKILL);
      }
      while (rondo_barrier(rank.comm, nullptr) == RONDO_OK) continue;
      Owned left;
      shrink_to(rank.comm, {victim}, left, rank.rank - (rank.rank > victim ? 1 : 0), 3);
    });
    for (int rank = 0; rank < 4; ++rank) {
      INFO(outcomes[static_cast<size_t>(rank)].error);
      CHECK(outcomes[static_cast<size_t>(rank)].ok == (rank != victim));
    }
  }
}

TEST_CASE("a death during a shrink is reported to all ranks that shrink, within a second") {
  for (const auto& [first, second] : {std::pair{3, 2}, std::pair{0, 1}, std::pair{0, 3}}) {
    INFO("after rank " << first << " rank " << second << " dies");
    const auto outcomes =
        run_world({.nranks = 4, .transport = "shm"}, [first = first, second = second](Rank& rank) {
          check(rondo_barrier(rank.comm, nullptr), rank.comm);
          if (rank.rank == first) {
            ::usleep(20'000);  // the others leave the first barrier
            ::kill(::getpid(), SIGKILL);
          }
          while (rondo_barrier(rank.comm, nullptr) == RONDO_OK) continue;
          if (rank.rank == second) {
            ::usleep(200'000);  // the others are waiting for this rank by then
            ::kill(::getpid(), SIGKILL);
          }
          const auto begin = std::chrono::steady_clock::now();
          rondo_comm_t made = nullptr;
          check_fails(rondo_shrink(rank.comm, &first, 1, &made, nullptr), RONDO_REMOTE_ERROR,
                      {"rank " + std::to_string(second) + " (", "is gone: exclude it as well"}, rank.comm);
          require(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1400), "it took long");
        });
    for (int rank = 0; rank < 4; ++rank) {
      INFO("rank " << rank << ": " << outcomes[static_cast<size_t>(rank)].error);
      CHECK(outcomes[static_cast<size_t>(rank)].ok == (rank != first && rank != second));
    }
  }
}

TEST_CASE(
    "ranks that die at about the same time are named, and all that live shrink to those that are left") {
  constexpr int kRanks = 6;
  for (const auto& dead : std::vector<std::vector<int>>{{5}, {0, 1}, {0, 3, 5}, {1, 2, 3, 4}}) {
    INFO("dead: " << Catch::StringMaker<std::vector<int>>::convert(dead));
    const auto outcomes = run_world({.nranks = kRanks, .transport = "shm"}, [&dead](Rank& rank) {
      const auto place = std::find(dead.begin(), dead.end(), rank.rank);
      while (rondo_barrier(rank.comm, nullptr) == RONDO_OK && place == dead.end()) continue;
      if (place != dead.end()) {
        ::usleep(4'000 * static_cast<useconds_t>(place - dead.begin()));
        ::kill(::getpid(), SIGKILL);
      }
      std::array<int, kRanks> gone{};
      int ngone = -1;
      check(rondo_gone_ranks(rank.comm, gone.data(), &ngone), rank.comm);
      require(ngone >= 1 && std::includes(dead.begin(), dead.end(), gone.begin(), gone.begin() + ngone),
              "wrong ranks are gone");
      Owned left;
      check(rondo_shrink(rank.comm, nullptr, RONDO_THE_GONE, left.out(), nullptr), rank.comm);
      const Rank now = member(left.get());
      require(now.size == kRanks - static_cast<int>(dead.size()), "wrong size");
      run_trial(now, {.count = 100});
      check(rondo_gone_ranks(left.get(), gone.data(), &ngone), left.get());
      require(ngone == 0, "ranks of the new communicator are gone");
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      INFO("rank " << rank << ": " << outcomes[static_cast<size_t>(rank)].error);
      CHECK(outcomes[static_cast<size_t>(rank)].ok == (std::count(dead.begin(), dead.end(), rank) == 0));
    }
  }
}

TEST_CASE("a rank that dies while all that live shrink is left out") {
  const auto outcomes = run_world({.nranks = 4, .transport = "shm"}, [](Rank& rank) {
    while (rondo_barrier(rank.comm, nullptr) == RONDO_OK)
      if (rank.rank == 3) ::kill(::getpid(), SIGKILL);
    if (rank.rank == 1) {
      ::usleep(200'000);  // the others are waiting for this rank by then
      ::kill(::getpid(), SIGKILL);
    }
    Owned left;
    check(rondo_shrink(rank.comm, nullptr, RONDO_THE_GONE, left.out(), nullptr), rank.comm);
    const Rank now = member(left.get());
    require(now.size == 2 && now.rank == rank.rank / 2, "wrong rank or size");
    run_trial(now, {.count = 100});
  });
  for (int rank = 0; rank < 4; ++rank) {
    INFO("rank " << rank << ": " << outcomes[static_cast<size_t>(rank)].error);
    CHECK(outcomes[static_cast<size_t>(rank)].ok == (rank % 2 == 0));
  }
}

TEST_CASE("an invalid shrink is refused at once") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    rondo_comm_t made = rank.comm;
    const std::array<int, 2> excluded{2, rank.rank};
    check_fails(rondo_shrink(rank.comm, excluded.data(), 1, &made, nullptr), RONDO_INVALID_ARGUMENT,
                {"excluded names rank 2", "0 to 1"}, rank.comm);
    require(made == nullptr, "a communicator");
    check_fails(rondo_shrink(rank.comm, &excluded[1], 1, &made, nullptr), RONDO_INVALID_ARGUMENT,
                {"which is the caller", "[R0001]"}, rank.comm);
    made = rank.comm;
    check_fails(rondo_shrink(rank.comm, nullptr, 1, &made, nullptr), RONDO_INVALID_ARGUMENT,
                {"excluded is NULL", "[R0601]"}, rank.comm);
    check_fails(rondo_shrink(rank.comm, excluded.data(), -2, &made, nullptr), RONDO_INVALID_ARGUMENT,
                {"nexcluded is -2", "RONDO_THE_GONE"}, rank.comm);
    require(made == nullptr, "a communicator");
    int ngone = 0;
    check_fails(rondo_gone_ranks(rank.comm, nullptr, &ngone), RONDO_INVALID_ARGUMENT, {"ranks is NULL"},
                rank.comm);
    check_fails(rondo_shrink(rank.comm, nullptr, 0, nullptr, nullptr), RONDO_INVALID_ARGUMENT,
                {"newcomm is NULL"}, rank.comm);
    check(rondo_group_start());
    check_fails(rondo_shrink(rank.comm, nullptr, 0, &made, nullptr), RONDO_INVALID_USAGE, {"within a group"},
                rank.comm);
    check(rondo_group_end());
    run_trial(rank, {.count = 3});
  }));
}

TEST_CASE("a rank that shrinks alone waits no longer than the start timeout") {
  const Environment limit("RONDO_INIT_TIMEOUT", "0.3");
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    rondo_comm_t made = nullptr;
    if (rank.rank == 1)
      check_fails(rondo_shrink(rank.comm, nullptr, 0, &made, nullptr), RONDO_TIMEOUT,
                  {"rank 0", "did not join the shrink"}, rank.comm);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

TEST_CASE("the first rank, too, says that others did not shrink") {
  const Environment limit("RONDO_INIT_TIMEOUT", "0.3");
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [](Rank& rank) {
    const int excluded = 1;
    rondo_comm_t made = nullptr;
    if (rank.rank == 0)
      check_fails(
          rondo_shrink(rank.comm, &excluded, 1, &made, nullptr), RONDO_TIMEOUT,
          {"by their ranks in the new communicator: 1 of 2 ranks did not join within 0.", " s: 1 [R0210]"},
          rank.comm);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

TEST_CASE("ranks leave communicators in different orders without waiting for one another") {
  for (const bool threads : {false, true}) {  // threads last: no child could be forked after that
    INFO(threads);
    expect_success(run_world({.nranks = 2, .threads = threads, .call_timeout_ms = 5'000}, [](Rank& rank) {
      rondo_unique_id_t id{};
      if (rank.rank == 0) check(rondo_get_unique_id(&id));
      check(rondo_broadcast(&id, &id, sizeof id, RONDO_UINT8, 0, rank.comm, nullptr), rank.comm);
      rondo_comm_t other = nullptr;
      check(rondo_init_rank(&other, 2, &id, rank.rank, nullptr));
      run_trial({other, rank.rank, 2}, {.count = 10});
      if (rank.rank == 0) std::swap(other, rank.comm);
      check(rondo_leave(other));
      check(rondo_leave(std::exchange(rank.comm, nullptr)));
      check(rondo_leave(nullptr));
    }));
  }
}

TEST_CASE("a quiesced communicator makes no calls, and can be left or destroyed") {
  for (const bool leave : {true, false}) {
    INFO(leave);
    std::array<rondo_comm_t, 2> comms{};
    check(rondo_init_all(comms.data(), 2, nullptr));
    for (const rondo_comm_t comm : comms) {
      check(rondo_quiesce(comm));
      check_fails(rondo_barrier(comm, nullptr), RONDO_INVALID_USAGE, {"rondo_quiesce() has ended the calls"},
                  comm);
      check_fails(rondo_quiesce(comm), RONDO_INVALID_USAGE, {"rondo_quiesce() has ended the calls"}, comm);
    }
    for (const rondo_comm_t comm : comms) check(leave ? rondo_leave(comm) : rondo_destroy(comm));
  }
}

TEST_CASE("a cancelled group makes no call") {
  std::array<rondo_comm_t, 2> comms{};
  check(rondo_init_all(comms.data(), 2, nullptr));
  check_fails(rondo_group_cancel(), RONDO_INVALID_USAGE, {"rondo_group_start()"});
  int value = 3;
  check(rondo_group_start());
  check(rondo_group_start());
  check(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, comms[0], nullptr));
  check(rondo_group_cancel());
  check_fails(rondo_group_end(), RONDO_INVALID_USAGE, {"rondo_group_start()"});
  CHECK(value == 3);
  for (const rondo_comm_t comm : comms) check(rondo_destroy(comm));
}

TEST_CASE("a rank of the host has no GPU") {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.device = "host";
  rondo_comm_t comm = nullptr;
  check(rondo_init_all(&comm, 1, &config));
  int device = 5;
  check(rondo_device(comm, &device));
  CHECK(device == -1);
  check_fails(rondo_device(comm, nullptr), RONDO_INVALID_ARGUMENT, {"device is NULL"});
  check_fails(rondo_current_device(nullptr), RONDO_INVALID_ARGUMENT, {"device is NULL"});
  check(rondo_destroy(comm));
}

}  // namespace
}  // namespace rondo::test
