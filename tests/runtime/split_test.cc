// SPDX-License-Identifier: Apache-2.0
// Splits and duplicates: their members and order, and that they never see one another's messages.
#include <unistd.h>

#include <memory>
#include <thread>

#include "catch.h"
#include "exchange.h"
#include "oracle.h"
#include "worlds.h"

namespace rondo::test {
namespace {

Rank member(rondo_comm_t comm) {
  Rank rank{comm, 0, 0};
  check(rondo_rank(comm, &rank.rank));
  check(rondo_size(comm, &rank.size));
  return rank;
}

/// The parent ranks of the members of `comm`, in its order.
std::vector<int> members(rondo_comm_t comm, int parent_rank) {
  std::vector<int> all(static_cast<size_t>(member(comm).size));
  check(rondo_all_gather(&parent_rank, all.data(), 1, RONDO_INT32, comm, nullptr), comm);
  return all;
}

TEST_CASE("ranks of a color are together, ordered by key, ties by rank") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 6), [](Rank& rank) {
      Owned halves;
      check(rondo_split(rank.comm, rank.rank % 2, -rank.rank, halves.out(), nullptr), rank.comm);
      require(members(halves.get(), rank.rank) ==
                  (rank.rank % 2 == 0 ? std::vector<int>{4, 2, 0} : std::vector<int>{5, 3, 1}),
              "wrong members");
      Owned ties;
      check(rondo_split(rank.comm, 1'000'000, rank.rank / 3 == 0 ? 5 : -5, ties.out(), nullptr), rank.comm);
      require(members(ties.get(), rank.rank) == std::vector<int>{3, 4, 5, 0, 1, 2}, "wrong order");
      run_trial(member(halves.get()), {.kind = Kind::Scan, .count = 500});
      run_trial(member(ties.get()), {.kind = Kind::AllToAll, .count = 50});
    }));
  }
}

TEST_CASE("a rank without a color gets no communicator, and the others do") {
  expect_success(run_world({.nranks = 4, .transport = "shm"}, [](Rank& rank) {
    Owned child(rank.comm);
    *child.out() = nullptr;
    const bool out = rank.rank == 2;
    check(rondo_split(rank.comm, out ? RONDO_NO_COLOR : 3, 0, child.out(), nullptr), rank.comm);
    require((child.get() == nullptr) == out, "wrong membership");
    if (!out) require(members(child.get(), rank.rank) == std::vector<int>{0, 1, 3}, "wrong members");
    run_trial(rank, {.count = 10});
  }));
}

TEST_CASE("a requested algorithm is not that of the all_gather within a split") {
  expect_success(run_world({.nranks = 3, .algorithm = "all_gather=hierarchical"}, [](Rank& rank) {
    Owned same;
    check(rondo_duplicate(rank.comm, same.out()), rank.comm);
    Owned turned;
    check(rondo_split(rank.comm, 0, -rank.rank, turned.out(), nullptr), rank.comm);
    const std::array<int32_t, 2> own{};
    std::array<int32_t, 6> all{};
    check_fails(rondo_all_gather(own.data(), all.data(), 2, RONDO_INT32, rank.comm, nullptr),
                RONDO_UNSUPPORTED, {"all_gather by hierarchical was requested"}, rank.comm);
  }));
}

TEST_CASE("splits of splits, down to single ranks") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 8), [](Rank& rank) {
      std::vector<std::unique_ptr<Owned>> levels;
      Rank at = rank;
      for (int size = 8; size > 1; size /= 2) {
        levels.push_back(std::make_unique<Owned>());
        check(rondo_split(at.comm, at.rank / (size / 2), at.rank, levels.back()->out(), nullptr), at.comm);
        at = member(levels.back()->get());
        require(at.size == size / 2, "wrong size");
        run_trial(at, {.kind = Kind::ReduceScatter, .count = 33});
      }
      run_trial(rank, {.kind = Kind::AllGather, .count = 33});
    }));
  }
}

TEST_CASE("calls on parent and children interleave without mixing") {
  for (const Way& way : kWays) {
    const Environment slots("RONDO_SLOT_BYTES", "256");
    INFO(way.transport);
    expect_success(run_world(world_of(way, 4), [](Rank& rank) {
      Owned twin;
      Owned half;
      check(rondo_duplicate(rank.comm, twin.out()), rank.comm);
      check(rondo_split(rank.comm, rank.rank / 2, 0, half.out(), nullptr), rank.comm);
      for (uint64_t seed = 7000; seed < 7030; ++seed) {
        run_trial(rank, random_trial(seed, 4, 400));
        run_trial(member(half.get()), random_trial(seed + 100, 2, 400));
        run_trial(member(twin.get()), random_trial(seed + 200, 4, 400));
      }
    }));
  }
}

/// Messages with the same tag and source, sent on two communicators and received in the opposite order.
TEST_CASE("a message on a duplicate is never taken for one on the original") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned twin;
      check(rondo_duplicate(rank.comm, twin.out()), rank.comm);
      std::array<int, 2> values{1, 2};
      std::array<int, 2> got{};
      check(rondo_group_start());
      if (rank.rank == 0) {
        check(rondo_send(&values[0], 1, RONDO_INT32, 1, 0, rank.comm, nullptr));
        check(rondo_send(&values[1], 1, RONDO_INT32, 1, 0, twin.get(), nullptr));
      } else {
        check(rondo_recv(&got[1], 1, RONDO_INT32, RONDO_ANY_SOURCE, RONDO_ANY_TAG, twin.get(), nullptr,
                         nullptr));
        check(rondo_recv(&got[0], 1, RONDO_INT32, RONDO_ANY_SOURCE, RONDO_ANY_TAG, rank.comm, nullptr,
                         nullptr));
      }
      check(rondo_group_end());
      require(rank.rank == 0 || got == values, "messages met");
    }));
  }
}

/// A failure stays within its communicator.
TEST_CASE("an abort of a duplicate leaves the original alone") {
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [](Rank& rank) {
    Owned twin;
    check(rondo_duplicate(rank.comm, twin.out()), rank.comm);
    if (rank.rank == 1) check(rondo_abort(twin.get()));
    rondo_status_t status = RONDO_OK;
    while (status == RONDO_OK) status = rondo_barrier(twin.get(), nullptr);
    check_fails(status, RONDO_ABORTED, {"rank 1", "rondo_abort()"}, twin.get());
    run_trial(rank, {.count = 100});
    Owned again;
    check(rondo_duplicate(rank.comm, again.out()), rank.comm);
    run_trial({again.get(), rank.rank, rank.size}, {.count = 100});
  }));
}

TEST_CASE("parent and children may be destroyed in any order") {
  for (const Way& way : kWays) {
    for (int order = 0; order < 3; ++order) {
      INFO(way.transport << ", order " << order);
      expect_success(run_world(world_of(way, 3), [order](Rank& rank) {
        rondo_comm_t child = nullptr;
        rondo_comm_t grandchild = nullptr;
        check(rondo_duplicate(rank.comm, &child), rank.comm);
        check(rondo_duplicate(child, &grandchild), child);
        std::vector<rondo_comm_t> all{rank.comm, child, grandchild};
        rank.comm = nullptr;
        for (int left = 3; left > 0; --left) {
          // Ranks need not agree on the order, except on which communicator is the last.
          for (const rondo_comm_t comm : all) run_trial({comm, rank.rank, rank.size}, {.count = 20});
          const auto which = all.begin() + order % left;
          const rondo_comm_t gone = *which;
          all.erase(which);
          check(rondo_destroy(gone));
        }
      }));
    }
  }
}

/// A rank that finishes first must not look dead to the others.
TEST_CASE("a parent may be finalized while it has children") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      Owned child;
      check(rondo_duplicate(rank.comm, child.out()), rank.comm);
      if (rank.rank == 0) ::usleep(20'000);
      check(rondo_finalize(rank.comm), rank.comm);
      run_trial({child.get(), rank.rank, rank.size}, {.count = 20});
    }));
  }
}

TEST_CASE("a split may choose settings other than its parent's") {
  expect_success(run_world({.nranks = 2}, [](Rank& rank) {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.transport = "tcp";
    Owned child;
    check(rondo_split(rank.comm, 0, 0, child.out(), &config), rank.comm);
    run_trial({child.get(), rank.rank, rank.size}, {.count = 100});
    config.timeout_ms = 300;
    Owned hasty;
    check(rondo_split(rank.comm, 0, 0, hasty.out(), &config), rank.comm);
    if (rank.rank == 0)
      check_fails(rondo_barrier(hasty.get(), nullptr), RONDO_TIMEOUT, {"0.3 s", "rank 1"}, hasty.get());
    for (rondo_status_t heard = RONDO_OK; heard == RONDO_OK; std::this_thread::yield())
      check(rondo_async_error(hasty.get(), &heard));
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

TEST_CASE("a rank may enter a call after the others have made it and destroyed their communicator") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      Owned child;
      check(rondo_duplicate(rank.comm, child.out()), rank.comm);
      if (rank.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      run_trial({child.get(), rank.rank, rank.size}, {.kind = Kind::Reduce, .count = 3, .root = 2});
    }));
  }
}

TEST_CASE("a split with invalid settings is refused before any rank waits") {
  expect_success(run_world({.nranks = 1}, [](Rank& rank) {
    rondo_comm_t child = rank.comm;
    check_fails(rondo_split(rank.comm, -2, 0, &child, nullptr), RONDO_INVALID_ARGUMENT, {"color is -2"},
                rank.comm);
    require(child == nullptr, "the communicator was not set to NULL");
    check_fails(rondo_split(rank.comm, 0, 0, nullptr, nullptr), RONDO_INVALID_ARGUMENT, {"newcomm is NULL"},
                rank.comm);
    check_fails(rondo_duplicate(rank.comm, nullptr), RONDO_INVALID_ARGUMENT, {"newcomm is NULL"}, rank.comm);
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.transport = "pigeon";
    check_fails(rondo_split(rank.comm, 0, 0, &child, &config), RONDO_INVALID_ARGUMENT, {"pigeon", "shm"},
                rank.comm);
    check(rondo_group_start());
    check_fails(rondo_duplicate(rank.comm, &child), RONDO_INVALID_USAGE, {"within a group"}, rank.comm);
    check(rondo_group_end());
    run_trial(rank, {.count = 3});
  }));
}

}  // namespace
}  // namespace rondo::test
