// SPDX-License-Identifier: Apache-2.0
// A rank dies, and the only rank that notices at once is stopped, which delays the news. Meanwhile the
// connections of calls fail one after the other, yet no rank blames a live one.
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "catch.h"
#include "clock.h"
#include "world.h"

namespace rondo::test {
namespace {

/// Shared by all ranks.
struct News {
  std::atomic<int> hub{0};  // the process of rank 0
  std::atomic<bool> dies{false};
};

void hear_of_3(const Rank& rank, int from) {
  int32_t value = 0;
  check_fails(rondo_recv(&value, 1, RONDO_INT32, from, 0, rank.comm, nullptr, nullptr), RONDO_REMOTE_ERROR,
              {": rank 3 ("}, rank.comm);
}

/// Two ranks connect with their first message.
void connect(const Rank& rank, int from, const std::vector<int>& to) {
  int32_t value = 0;
  for (const int peer : to) check(rondo_send(&value, 1, RONDO_INT32, peer, 0, rank.comm, nullptr), rank.comm);
  if (from >= 0) check(rondo_recv(&value, 1, RONDO_INT32, from, 0, rank.comm, nullptr, nullptr), rank.comm);
}

TEST_CASE("a late notice of a death is not blamed on the ranks that hear of it first") {
  const Shared<News> shared;
  expect_success(run_world({.nranks = 6, .transport = "tcp"}, [&](Rank& rank) {
    if (rank.rank == 0) shared->hub = ::getpid();
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    switch (rank.rank) {  // 4 waits for 2, 2 for 1, and 1 for 3; 0 is the parent of all in the control tree
      case 1: connect(rank, 3, {2}); return hear_of_3(rank, 3);
      case 2: connect(rank, 1, {4}); return hear_of_3(rank, 1);
      case 4: connect(rank, 2, {}); return hear_of_3(rank, 2);
      case 3:
        connect(rank, -1, {0, 1, 5});
        while (!shared->dies) sleep_ms(1);
        std::_Exit(0);
      case 5:
        connect(rank, 3, {});
        sleep_ms(200);  // until all wait
        ::kill(shared->hub, SIGSTOP);
        shared->dies = true;
        sleep_ms(2000);
        ::kill(shared->hub, SIGCONT);
        return hear_of_3(rank, 3);
      default: connect(rank, 3, {}); return hear_of_3(rank, 3);
    }
  }));
}

}  // namespace
}  // namespace rondo::test
