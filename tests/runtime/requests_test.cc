// SPDX-License-Identifier: Apache-2.0
// Sends and receives in flight beside other calls; and leaving without the others.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "bytes.h"
#include "catch.h"
#include "guarded.h"
#include "oracle.h"
#include "started.h"
#include "worlds.h"

namespace rondo::test {
namespace {

Started isend(const Rank& rank, const std::vector<std::byte>& data, int peer, int tag) {
  Started started;
  check(rondo_isend(data.data(), data.size(), RONDO_UINT8, peer, tag, rank.comm, started.out()), rank.comm);
  return started;
}

Started irecv(const Rank& rank, Guarded& into, int peer, int tag, rondo_receipt_t* receipt = nullptr) {
  Started started;
  check(rondo_irecv(into.data(), into.size(), RONDO_UINT8, peer, tag, rank.comm, receipt, started.out()),
        rank.comm);
  return started;
}

void expect(const Guarded& got, const std::vector<std::byte>& sent, const std::string& what) {
  require(same_bytes(sent.data(), got.data(), sent.size()) && got.guards_intact(), what + ": wrong content");
}

template <typename Body>
void in_every_world(int nranks, Body&& body) {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, nranks), body));
  }
}

int cpus_of_process() {
  cpu_set_t cpus;
  REQUIRE(::sched_getaffinity(0, sizeof cpus, &cpus) == 0);
  return CPU_COUNT(&cpus);
}

/// Requires that `slots` messages to a rank that receives none are done, and no more.
void expect_in_flight(int nranks, int slots, size_t bytes) {
  INFO(nranks << " ranks, " << slots << " slots, " << bytes << " bytes");
  expect_success(run_world({.nranks = nranks, .transport = "shm"}, [slots, bytes](Rank& rank) {
    const std::vector<std::byte> data(bytes, std::byte{7});
    std::vector<Started> sent;
    if (rank.rank == 0) {
      for (int i = 0; i <= slots; ++i) sent.push_back(isend(rank, data, 1, 0));
      for (int i = 0; i < slots; ++i) sent[static_cast<size_t>(i)].wait();
      require(rondo_request_query(sent.back().get()) == RONDO_IN_PROGRESS, "more slots than there should be");
    }
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 0) sent.back().wait();
    if (rank.rank != 1) return;
    for (int i = 0; i <= slots; ++i) {
      std::vector<std::byte> got(data.size());
      check(rondo_recv(got.data(), got.size(), RONDO_UINT8, 0, 0, rank.comm, nullptr, nullptr), rank.comm);
      require(got == data, "wrong content");
    }
  }));
}

TEST_CASE("as many messages are in flight as slots fit the budget, fewer if there are many ranks") {
  const auto [nranks, fit] = GENERATE(table<int, int>({{2, 16}, {3, 16}, {17, 8}, {34, 4}}));
  expect_in_flight(nranks, nranks > cpus_of_process() ? 4 : fit, 9000);
}

TEST_CASE("64 short messages are in flight however few slots there are") {
  const size_t bytes = GENERATE(size_t{0}, size_t{16}, size_t{100});
  expect_in_flight(GENERATE(2, 5), 64, bytes);
}

TEST_CASE("every rank starts receives from and sends to all ranks, in any order, and waits in another") {
  in_every_world(4, [](Rank& rank) {
    constexpr size_t kBytes = 300'007;  // announced by a handshake, not eager
    std::vector<std::vector<std::byte>> sent;
    std::vector<Guarded> got;
    std::vector<Started> requests;
    for (int peer = 0; peer < rank.size; ++peer) {
      sent.push_back(random_bytes(static_cast<uint64_t>(rank.rank * 10 + peer), 0, kBytes));
      got.emplace_back(kBytes, 1);
    }
    for (int peer = 0; peer < rank.size; ++peer) {
      const bool recv_first = (peer + rank.rank) % 2 == 0;
      if (recv_first) requests.push_back(irecv(rank, got[static_cast<size_t>(peer)], peer, 5));
      requests.push_back(isend(rank, sent[static_cast<size_t>(peer)], peer, 5));
      if (!recv_first) requests.push_back(irecv(rank, got[static_cast<size_t>(peer)], peer, 5));
    }
    for (size_t i = requests.size(); i-- != 0;) requests[i].wait();
    for (int peer = 0; peer < rank.size; ++peer)
      expect(got[static_cast<size_t>(peer)],
             random_bytes(static_cast<uint64_t>(peer * 10 + rank.rank), 0, kBytes),
             "from " + std::to_string(peer));
  });
}

TEST_CASE("a long send progresses while its rank is in a collective that the receiver joins later") {
  in_every_world(2, [](Rank& rank) {
    const auto data = random_bytes(7, 0, 2'000'003);
    if (rank.rank == 0) {
      const Started request = isend(rank, data, 1, 0);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      request.wait();
    } else {
      Guarded got(data.size(), 0);
      check(rondo_recv(got.data(), got.size(), RONDO_UINT8, 0, 0, rank.comm, nullptr, nullptr), rank.comm);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      expect(got, data, "after the collective");
    }
  });
}

TEST_CASE("nonblocking messages keep the order of the calls, also relative to blocking ones") {
  in_every_world(2, [](Rank& rank) {
    constexpr int kMessages = 40;
    std::vector<int> values(kMessages, -1);
    if (rank.rank == 0) {
      std::vector<Started> requests(kMessages);
      for (int i = 0; i < kMessages; ++i) {
        values[static_cast<size_t>(i)] = i;
        const int* value = &values[static_cast<size_t>(i)];
        if (i % 3 == 0)
          check(rondo_send(value, 1, RONDO_INT32, 1, 9, rank.comm, nullptr), rank.comm);
        else
          check(rondo_isend(value, 1, RONDO_INT32, 1, 9, rank.comm, requests[static_cast<size_t>(i)].out()),
                rank.comm);
      }
      for (const Started& request : requests)
        if (request.get() != nullptr) request.wait();
    } else {
      for (int i = 0; i < kMessages; ++i) {
        Started request;
        rondo_receipt_t receipt{};
        check(rondo_irecv(&values[static_cast<size_t>(i)], 1, RONDO_INT32, RONDO_ANY_SOURCE, RONDO_ANY_TAG,
                          rank.comm, &receipt, request.out()),
              rank.comm);
        request.wait();
        require(receipt.source == 0 && receipt.tag == 9 && receipt.count == 1, "wrong receipt");
        require(values[static_cast<size_t>(i)] == i, "out of order");
      }
    }
  });
}

TEST_CASE("each completion callback runs exactly once, whether or not any rank waits") {
  in_every_world(2, [](Rank& rank) {
    const auto told = [](rondo_status_t status, const char*, void* user) {
      static_cast<std::atomic<int>*>(user)->fetch_add(status == RONDO_OK ? 1 : 1000);
    };
    std::atomic<int> count{0};
    Guarded got(100'000, 0);
    const auto data = random_bytes(3, 0, got.size());
    if (rank.rank == 0) {
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      isend(rank, data, 1, 0).wait();
    } else {
      const Started request = irecv(rank, got, 0, 0);
      require(rondo_request_query(request.get()) == RONDO_IN_PROGRESS, "it cannot have come yet");
      check(rondo_request_tell(request.get(), told, &count));
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      for (int i = 0; i < 5000 && count == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      require(count == 1, "told " + std::to_string(count) + " times");
      check(rondo_request_query(request.get()));
      check(rondo_request_tell(request.get(), told, &count));
      require(count == 2, "called at once if the message is complete");
      expect(got, data, "when told");
    }
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  });
}

TEST_CASE("a wait that times out does no harm; the message still arrives") {
  in_every_world(2, [](Rank& rank) {
    int value = -1;
    if (rank.rank == 1) {
      Started request;
      check(rondo_irecv(&value, 1, RONDO_INT32, 0, 0, rank.comm, nullptr, request.out()), rank.comm);
      require(rondo_request_wait(request.get(), 20) == RONDO_IN_PROGRESS, "nothing was sent");
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      request.wait();
      require(value == 42, "wrong value");
    } else {
      value = 42;
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      check(rondo_send(&value, 1, RONDO_INT32, 1, 0, rank.comm, nullptr), rank.comm);
    }
  });
}

TEST_CASE("a wait ends after its timeout while other messages arrive without a pause") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    constexpr size_t kMessages = 200;
    constexpr int kLate = 1;
    std::vector<std::byte> data(4'000'000);
    std::vector<Started> all;
    const auto start_all = [&](auto&& start) {
      for (size_t i = 0; i < kMessages; ++i) check(start(all.emplace_back().out()), rank.comm);
    };
    const auto wait_for_all = [&] {
      for (const Started& one : all) one.wait();
    };
    if (rank.rank == 1) {
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      start_all([&](rondo_request_t* request) {
        return rondo_isend(data.data(), data.size(), RONDO_UINT8, 0, 0, rank.comm, request);
      });
      wait_for_all();
      return isend(rank, data, 0, kLate).wait();
    }
    Guarded into(data.size(), 0);
    const Started late = irecv(rank, into, 1, kLate);
    start_all([&](rondo_request_t* request) {
      return rondo_irecv(data.data(), data.size(), RONDO_UINT8, 1, 0, rank.comm, nullptr, request);
    });
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    const bool is_late = rondo_request_wait(late.get(), 10) == RONDO_IN_PROGRESS;
    const bool was_long = rondo_request_query(all.back().get()) == RONDO_OK;
    wait_for_all();
    late.wait();
    require(is_late && !was_long, "it waited for the other messages");
  }));
}

TEST_CASE("a receive without a send ends at the timeout that was set, naming the rank") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    if (rank.rank == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(800));
      return;
    }
    int value = 0;
    Started request;
    check(rondo_set_timeout(rank.comm, 200), rank.comm);
    check(rondo_irecv(&value, 1, RONDO_INT32, 0, 3, rank.comm, nullptr, request.out()), rank.comm);
    check_fails(rondo_request_wait(request.get(), 0), RONDO_TIMEOUT, {"0.2 s", "rank 0"});
  }));
}

TEST_CASE("a message in flight when its communicator ends fails, and its callback is told") {
  std::array<rondo_comm_t, 2> comms{};
  check(rondo_init_all(comms.data(), 2, nullptr));
  int value = 0;
  Started request;
  rondo_status_t outcome = RONDO_OK;
  check(rondo_irecv(&value, 1, RONDO_INT32, 1, 0, comms[0], nullptr, request.out()));
  check(rondo_request_tell(
      request.get(),
      [](rondo_status_t status, const char*, void* user) { *static_cast<rondo_status_t*>(user) = status; },
      &outcome));
  for (const rondo_comm_t comm : comms) check(rondo_destroy(comm));
  CHECK(outcome == RONDO_INVALID_USAGE);
  check_fails(rondo_request_wait(request.get(), 0), RONDO_INVALID_USAGE,
              {"ended before the message was complete"});
}

constexpr size_t kLong = 500'000;  // bytes: more than fits a slot, so that its receiver has to take part

TEST_CASE("a sender that ends before its long message was received names that message") {
  in_every_world(2, [](Rank& rank) {
    Owned comm;
    check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
    const std::vector<std::byte> data(kLong);
    Guarded into(kLong, 0);
    const Started request =
        rank.rank == 0 ? isend({comm.get(), 0, 2}, data, 1, 5) : irecv({comm.get(), 1, 2}, into, 0, 6);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 0) {
      check_fails(rondo_finalize(comm.get()), RONDO_MISMATCH,
                  {"rank 0 ended the communicator before its send(to 1, tag 5) was complete"}, comm.get());
      check_fails(rondo_request_wait(request.get(), 0), RONDO_INVALID_USAGE,
                  {"ended before the message was complete: send(to 1, tag 5)"});
    }
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  });
}

TEST_CASE("a receiver is told of the message that its sender ended") {
  in_every_world(2, [](Rank& rank) {
    Guarded into(kLong, 0);
    const std::vector<std::byte> data(kLong);
    if (rank.rank == 0) {
      const Started request = isend(rank, data, 1, 5);
      check_fails(rondo_finalize(rank.comm), RONDO_MISMATCH, {"before its send(to 1, tag 5) was complete"},
                  rank.comm);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    check_fails(
        rondo_recv(into.data(), kLong, RONDO_UINT8, 0, 5, rank.comm, nullptr, nullptr), RONDO_MISMATCH,
        {"rank 1 called recv(from 0, tag 5); rank 0 called rondo_finalize() before its send(to 1, tag "
         "5) was complete"},
        rank.comm);
  });
}

TEST_CASE("a short message arrives, though its sender starts it and ends at once") {
  in_every_world(2, [](Rank& rank) {
    Owned comm;
    check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
    const std::vector<std::byte> data(100, std::byte{3});
    Guarded into(data.size(), 0);
    if (rank.rank == 0) {
      const Started request = isend({comm.get(), 0, 2}, data, 1, 5);
      check(rondo_finalize(comm.get()), comm.get());
    } else {
      irecv({comm.get(), 1, 2}, into, 0, 5).wait();
      expect(into, data, "from 0");
    }
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  });
}

TEST_CASE("a sent message arrives, though its sender ends with a receive that matched nothing") {
  constexpr size_t kWanted = 16'384;  // int32: long enough for connections that can do so to expect it
  in_every_world(2, [](Rank& rank) {
    Owned comm;
    check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
    int32_t value = 41 + rank.rank;
    std::vector<int32_t> never(kWanted);
    Started request;
    if (rank.rank == 0) {
      for (int tag = 0; tag < 2; ++tag)
        check(rondo_send(&value, 1, RONDO_INT32, 1, tag, comm.get(), nullptr), comm.get());
      check(rondo_irecv(never.data(), kWanted, RONDO_INT32, 1, 9, comm.get(), nullptr, request.out()));
      check(rondo_finalize(comm.get()), comm.get());
    } else {
      check(rondo_recv(&value, 1, RONDO_INT32, 0, 0, comm.get(), nullptr, nullptr), comm.get());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      check(rondo_recv(&value, 1, RONDO_INT32, 0, 1, comm.get(), nullptr, nullptr), comm.get());
      require(value == 41, "it is a different message");
      check(rondo_finalize(comm.get()), comm.get());
    }
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  });
}

TEST_CASE("sends that were received before a barrier are complete when the communicator ends after it") {
  in_every_world(2, [](Rank& rank) {
    constexpr int kMessages = 20;
    std::vector<std::byte> data(100'000, std::byte{1});
    for (int i = 0; i < 50; ++i) {
      Owned comm;
      check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
      for (int message = 0; message < kMessages; ++message) {
        if (rank.rank == 1) {
          check(rondo_recv(data.data(), data.size(), RONDO_UINT8, 0, 0, comm.get(), nullptr, nullptr),
                comm.get());
          continue;
        }
        rondo_request_t request = nullptr;
        check(rondo_isend(data.data(), data.size(), RONDO_UINT8, 1, 0, comm.get(), &request), comm.get());
        check(rondo_request_free(request), comm.get());
      }
      check(rondo_barrier(comm.get(), nullptr), comm.get());
      check(rondo_finalize(comm.get()), comm.get());
    }
  });
}

TEST_CASE("bad requests are refused with an error") {
  Owned comm;
  check(rondo_init(comm.out(), "env://", nullptr));
  int value = 1;
  rondo_request_t request = nullptr;
  check_fails(rondo_isend(&value, 1, RONDO_INT32, 1, 0, comm.get(), &request), RONDO_INVALID_ARGUMENT,
              {"peer is 1"});
  CHECK(request == nullptr);
  check_fails(rondo_isend(&value, 1, RONDO_INT32, 0, 0, comm.get(), nullptr), RONDO_INVALID_ARGUMENT,
              {"request is NULL"});
  check_fails(rondo_request_wait(nullptr, 0), RONDO_INVALID_ARGUMENT, {"request is NULL"});
  check(rondo_isend(&value, 1, RONDO_INT32, 0, 0, comm.get(), &request));
  check_fails(rondo_request_wait(request, -1), RONDO_INVALID_ARGUMENT, {"timeout_ms is -1"});
  check_fails(rondo_request_tell(request, nullptr, nullptr), RONDO_INVALID_ARGUMENT, {"fn is NULL"});
  check(rondo_request_free(request));
  check_fails(rondo_request_free(request), RONDO_INVALID_ARGUMENT, {"it was freed"});
  check(rondo_group_start());
  check_fails(rondo_isend(&value, 1, RONDO_INT32, 0, 0, comm.get(), &request), RONDO_INVALID_USAGE,
              {"group"});
  check(rondo_group_end());
  check_fails(rondo_set_timeout(comm.get(), 0), RONDO_INVALID_ARGUMENT, {"timeout_ms is 0"});
  check(rondo_recv(&value, 1, RONDO_INT32, 0, 0, comm.get(), nullptr, nullptr));
}

TEST_CASE("a rank leaves without the others, which carry on and are told when they need it") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 3, .transport = transport}, [](Rank& rank) {
      int value = rank.rank;
      int sum = 0;
      check(rondo_all_reduce(&value, &sum, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
      require(sum == 3, "wrong sum");
      if (rank.rank == 0) {
        check(rondo_leave(std::exchange(rank.comm, nullptr)));
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (rank.rank == 1) check(rondo_send(&value, 1, RONDO_INT32, 2, 0, rank.comm, nullptr), rank.comm);
      if (rank.rank == 2)
        check(rondo_recv(&sum, 1, RONDO_INT32, 1, 0, rank.comm, nullptr, nullptr), rank.comm);
      const auto begin = std::chrono::steady_clock::now();
      check_fails(rondo_barrier(rank.comm, nullptr), RONDO_REMOTE_ERROR, {"rank 0"}, rank.comm);
      require(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5), "it took too long");
    }));
  }
}

TEST_CASE("all ranks may leave, each at any time, over and over") {
  for (int i = 0; i < 20; ++i)
    expect_success(run_world({.nranks = 4, .transport = "shm"}, [](Rank& rank) {
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      check(rondo_leave(std::exchange(rank.comm, nullptr)));
    }));
}

}  // namespace
}  // namespace rondo::test
