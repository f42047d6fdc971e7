// SPDX-License-Identifier: Apache-2.0
// Groups: all calls of a group make progress together.
#include <memory>
#include <thread>

#include "catch.h"
#include "exchange.h"
#include "oracle.h"
#include "worlds.h"

namespace rondo::test {
namespace {

using Exchanges = std::vector<std::unique_ptr<Exchange>>;

void add(Exchanges& exchanges, const Rank& rank, const Trial& trial, rondo_stream_t stream = nullptr) {
  exchanges.push_back(std::make_unique<Exchange>(rank, trial));
  check(exchanges.back()->start(stream), rank.comm);
}

void verify(Exchanges& exchanges) {
  for (auto& exchange : exchanges) exchange->verify();
}

Rank on(const Owned& comm) {
  Rank rank{comm.get(), 0, 0};
  check(rondo_rank(comm.get(), &rank.rank));
  check(rondo_size(comm.get(), &rank.size));
  return rank;
}

/// Sends a message to the right and receives one from the left, long enough to need many slots.
struct Shift {
  Shift(const Rank& rank, uint64_t seed, int tag)
      : left((rank.rank + rank.size - 1) % rank.size),
        sent(random_bytes(seed, rank.rank, 3000)),
        expected(random_bytes(seed, left, 3000)),
        got(3000) {
    const int right = (rank.rank + 1) % rank.size;
    check(rondo_send(sent.data(), sent.size(), RONDO_UINT8, right, tag, rank.comm, nullptr), rank.comm);
    check(rondo_recv(got.data(), got.size(), RONDO_UINT8, left, tag, rank.comm, nullptr, &receipt),
          rank.comm);
  }
  void verify() const {
    require(got == expected, "the left one's message is wrong");
    require(receipt.source == left && receipt.count == got.size(), "wrong receipt");
  }
  int left;
  std::vector<std::byte> sent;
  std::vector<std::byte> expected;
  std::vector<std::byte> got;
  rondo_receipt_t receipt{};
};

TEST_CASE("collectives, sends and receives of one group all give the right result") {
  for (const Way& way : kWays) {
    const Environment slots("RONDO_SLOT_BYTES", "256");
    INFO(way.transport);
    expect_success(run_world(world_of(way, 4), [](Rank& rank) {
      for (uint64_t round = 0; round < 5; ++round) {
        Exchanges exchanges;
        std::vector<std::unique_ptr<Shift>> shifts;
        check(rondo_group_start());
        for (uint64_t i = 0; i < 6; ++i) {
          add(exchanges, rank, random_trial(500 + round * 10 + i, rank.size, 500));
          shifts.push_back(std::make_unique<Shift>(rank, round * 10 + i, static_cast<int>(i)));
        }
        check(rondo_group_end());
        verify(exchanges);
        for (auto& shift : shifts) shift->verify();
      }
    }));
  }
}

/// Even ranks use the communicators forwards, odd ranks backwards; without a group this would deadlock.
TEST_CASE("ranks may use communicators in different orders within a group") {
  for (const Way& way : kWays) {
    const Environment slots("RONDO_SLOT_BYTES", "256");
    INFO(way.transport);
    expect_success(run_world(world_of(way, 4), [](Rank& rank) {
      std::array<Owned, 4> comms;
      for (Owned& comm : comms) check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
      for (uint64_t round = 0; round < 3; ++round) {
        Exchanges exchanges;
        check(rondo_group_start());
        for (size_t i = 0; i < comms.size(); ++i) {
          const size_t which = rank.rank % 2 == 0 ? i : comms.size() - 1 - i;
          for (uint64_t call = 0; call < 3; ++call)
            add(exchanges, on(comms[which]),
                {.kind = Kind::AllReduce, .count = 2000, .seed = round * 100 + which * 10 + call});
        }
        check(rondo_group_end());
        verify(exchanges);
      }
    }));
  }
}

TEST_CASE("groups nest; the outermost end runs the calls") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    const int mine = rank.rank + 1;
    int sum = 0;
    check(rondo_group_start());
    check(rondo_group_start());
    check(rondo_all_reduce(&mine, &sum, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
    check(rondo_group_end());
    require(sum == 0, "an inner end ran the call");
    check(rondo_group_start());
    check(rondo_group_end());
    check(rondo_group_end());
    require(sum == 3, "wrong sum");
  }));
}

TEST_CASE("a group end without a start is an error, and an empty group does nothing") {
  check_fails(rondo_group_end(), RONDO_INVALID_USAGE, {"rondo_group_end", "without a rondo_group_start"});
  check(rondo_group_start());
  check(rondo_group_end());
  check_fails(rondo_group_end(), RONDO_INVALID_USAGE, {"rondo_group_start"});
}

TEST_CASE("one thread drives all communicators of rondo_init_all") {
  for (const char* transport : {"local", "sim"}) {
    for (const int nranks : {1, 2, 5, 16}) {
      INFO(transport << ", " << nranks << " ranks");
      rondo_config_t config = RONDO_CONFIG_INITIALIZER;
      config.transport = transport;
      config.timeout_ms = 20'000;
      const LocalRanks ranks(nranks, config);
      for (uint64_t seed = 900; seed < 912; ++seed) {
        Exchanges exchanges;
        check(rondo_group_start());
        for (int rank = 0; rank < nranks; ++rank)
          add(exchanges, ranks.rank(rank), random_trial(seed, nranks, 300));
        check(rondo_group_end());
        verify(exchanges);
      }
      std::vector<std::unique_ptr<Shift>> shifts;
      check(rondo_group_start());
      for (int rank = 0; rank < nranks; ++rank)
        shifts.push_back(std::make_unique<Shift>(ranks.rank(rank), 1, 2));
      check(rondo_group_end());
      for (auto& shift : shifts) shift->verify();
    }
  }
}

TEST_CASE("a group with a refused call makes no call, and its end returns the first refusal") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    const int mine = rank.rank + 1;
    int sum = 0;
    const auto add_up = [&](rondo_type_t type, rondo_stream_t stream = nullptr) {
      return rondo_all_reduce(&mine, &sum, 1, type, RONDO_SUM, rank.comm, stream);
    };
    rondo_stream_t queue = nullptr;
    check(rondo_queue_create(&queue));
    check(rondo_group_start());
    check(add_up(RONDO_INT32), rank.comm);
    check(rondo_group_start());
    check_fails(add_up(77), RONDO_INVALID_ARGUMENT, {"type is 77"}, rank.comm);
    check(rondo_group_end());  // ends the inner group
    check_fails(rondo_recv(&sum, 1, RONDO_INT32, 7, 0, rank.comm, nullptr, nullptr), RONDO_INVALID_ARGUMENT,
                {"peer is 7"}, rank.comm);
    check(add_up(RONDO_INT32, queue), rank.comm);
    check_fails(rondo_group_end(), RONDO_INVALID_ARGUMENT,
                {"rondo_group_end", "none was made", "rondo_all_reduce", "type is 77"}, rank.comm);
    check(rondo_queue_synchronize(queue));
    require(sum == 0, "a call of the group was made");

    check(rondo_group_start());
    check(add_up(RONDO_INT32), rank.comm);
    check(rondo_group_end());
    require(sum == 3, "the refusal outlived its group");
    check(rondo_queue_destroy(queue));
  }));
}

TEST_CASE("a cancelled group leaves no refusal behind, nor does a call that groups do not allow") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    Owned half;
    check(rondo_group_start());
    check_fails(rondo_barrier(nullptr, nullptr), RONDO_INVALID_ARGUMENT, {"comm is NULL"});
    check(rondo_group_cancel());
    check(rondo_group_start());
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    check_fails(rondo_split(rank.comm, 0, 0, half.out(), nullptr), RONDO_INVALID_USAGE,
                {"not allowed within a group"}, rank.comm);
    check(rondo_group_end());
  }));
}

TEST_CASE("a communicator knows its latest error, whether from a group or its own") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    check_fails(rondo_group_end(), RONDO_INVALID_USAGE, {"without a rondo_group_start"}, rank.comm);
    check_fails(rondo_set_timeout(rank.comm, 0), RONDO_INVALID_ARGUMENT, {"timeout_ms is 0"}, rank.comm);
    check_fails(rondo_group_cancel(), RONDO_INVALID_USAGE, {"rank", "rondo_group_cancel"}, rank.comm);
    Owned later;
    check(rondo_duplicate(rank.comm, later.out()), rank.comm);
    require(rondo_last_error(later.get()) == std::string(), "an error came before its communicator");
  }));
}

TEST_CASE("a group reports its failure and completes the calls that can still be done") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    Owned bad;
    check(rondo_duplicate(rank.comm, bad.out()), rank.comm);
    const int mine = rank.rank + 1;
    int sum = 0;
    std::array<int, 2> other{};
    check(rondo_group_start());
    check(rondo_all_reduce(other.data(), other.data(), rank.rank == 0 ? 1 : 2, RONDO_INT32, RONDO_SUM,
                           bad.get(), nullptr));
    check(rondo_all_reduce(&mine, &sum, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
    check_fails(rondo_group_end(), RONDO_MISMATCH,
                {"rondo_group_end", "all_reduce(count=1", "all_reduce(count=2"});
    require(sum == 3, "the other communicator's call was not done");
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

TEST_CASE("fifty communicators of a process live side by side") {
  for (const Way& way : kWays) {
    const Environment slots("RONDO_SLOT_BYTES", "1024");
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      std::array<Owned, 50> comms;
      for (Owned& comm : comms) check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
      Exchanges exchanges;
      check(rondo_group_start());
      for (size_t i = 0; i < comms.size(); ++i)
        add(exchanges, on(comms[rank.rank == 0 ? i : 49 - i]),
            {.kind = Kind::AllReduce, .count = 100, .seed = rank.rank == 0 ? i : 49 - i});
      check(rondo_group_end());
      verify(exchanges);
    }));
  }
}

}  // namespace
}  // namespace rondo::test
