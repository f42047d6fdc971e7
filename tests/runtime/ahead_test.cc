// SPDX-License-Identifier: Apache-2.0
// Short calls in which ranks can run ahead of one another: a rank that is behind still gets the data of its
// own call.
#include <algorithm>
#include <chrono>
#include <thread>

#include "catch.h"
#include "exchange.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr int kCalls = 600;

int32_t value(int call, int rank) { return 1000 * call + rank; }

void dawdle(const Rank& rank, int call) {
  if ((call + rank.rank) % 67 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void expect(int32_t got, int32_t wanted, int call) {
  require(got == wanted, "call " + std::to_string(call) + ": got " + std::to_string(got) + " instead of " +
                             std::to_string(wanted));
}

/// The root waits for no other rank; messages have `words` words.
void broadcasts(const Rank& rank, size_t words) {
  std::vector<int32_t> data(words);
  for (int call = 0; call < kCalls; ++call) {
    const int root = call / 100 % rank.size;
    dawdle(rank, call);
    std::fill(data.begin(), data.end(), rank.rank == root ? value(call, root) : -1);
    check(rondo_broadcast(data.data(), data.data(), words, RONDO_INT32, root, rank.comm, nullptr), rank.comm);
    expect(data.front(), value(call, root), call);
    expect(data.back(), value(call, root), call);
  }
}

/// Only the root waits for other ranks.
void reductions(const Rank& rank, size_t words) {
  std::vector<int32_t> mine(words);
  std::vector<int32_t> sum(words);
  for (int call = 0; call < kCalls; ++call) {
    const int root = call / 100 % rank.size;
    dawdle(rank, call);
    std::fill(mine.begin(), mine.end(), value(call, rank.rank));
    check(rondo_reduce(mine.data(), sum.data(), words, RONDO_INT32, RONDO_SUM, root, rank.comm, nullptr),
          rank.comm);
    std::fill(mine.begin(), mine.end(), -1);  // the buffer is the caller's again
    if (rank.rank != root) continue;
    const int32_t wanted = rank.size * value(call, 0) + rank.size * (rank.size - 1) / 2;
    expect(sum.front(), wanted, call);
    expect(sum.back(), wanted, call);
  }
}

/// Each broadcast is longer than the one before, while earlier ones are still unread.
void growing_broadcasts(const Rank& rank) {
  std::vector<int32_t> data;
  for (int call = 0; call < 60; ++call) {
    data.assign(static_cast<size_t>(1100 + call * 700), rank.rank == 0 ? value(call, 0) : -1);
    if (rank.rank != 0 && call % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    check(rondo_broadcast(data.data(), data.data(), data.size(), RONDO_INT32, 0, rank.comm, nullptr),
          rank.comm);
    require(std::ranges::count(data, value(call, 0)) == std::ssize(data), "a word of another call");
  }
}

TEST_CASE("a long post does not overwrite shorter posts that are still unread") {
  const Environment exchange("RONDO_EXCHANGE_BYTES", "262144");
  for (const int nranks : {2, 5}) {
    INFO(nranks << " ranks");
    expect_success(run_world({.nranks = nranks, .transport = "shm"}, growing_broadcasts));
  }
}

/// Calls in which every rank waits for every other alternate with calls in which it does not.
void mixture(const Rank& rank) {
  std::vector<int32_t> all(static_cast<size_t>(rank.size));
  for (int call = 0; call < kCalls; ++call) {
    dawdle(rank, call);
    const int32_t mine = value(call, rank.rank);
    int32_t got = call % 3 == 0 && rank.rank == 0 ? mine : -1;
    if (call % 3 == 0) {
      check(rondo_broadcast(&got, &got, 1, RONDO_INT32, 0, rank.comm, nullptr), rank.comm);
      expect(got, value(call, 0), call);
    } else if (call % 3 == 1) {
      check(rondo_all_gather(&mine, all.data(), 1, RONDO_INT32, rank.comm, nullptr), rank.comm);
      for (int r = 0; r < rank.size; ++r) expect(all[static_cast<size_t>(r)], value(call, r), call);
    } else {
      check(rondo_scan(&mine, &got, 1, RONDO_INT32, RONDO_MAX, rank.comm, nullptr), rank.comm);
      expect(got, mine, call);
    }
  }
}

TEST_CASE("a rank that is behind gets the data of its own call") {
  for (const Way& way : kWays)
    for (const int nranks : {2, 5}) {
      INFO(way.transport << ", " << nranks << " ranks");
      expect_success(run_world(world_of(way, nranks), [](Rank& rank) {
        for (const size_t words :
             {size_t{2}, size_t{3}, size_t{16}, size_t{17}, size_t{1024}, size_t{1025}, size_t{4096}}) {
          broadcasts(rank, words);
          reductions(rank, words);
        }
        mixture(rank);
      }));
    }
}

}  // namespace
}  // namespace rondo::test
