// SPDX-License-Identifier: Apache-2.0
// Sends and receives: lengths, tags, any source, order, crossed messages, errors.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "bytes.h"
#include "catch.h"
#include "forbid_reading.h"
#include "guarded.h"
#include "oracle.h"
#include "worlds.h"

namespace rondo::test {
namespace {

uint64_t seed_of(int from, int to, int tag, size_t number = 0) {
  return mix(static_cast<uint64_t>(from), static_cast<uint64_t>(to) * 1000 + static_cast<uint64_t>(tag),
             number);
}

void send(const Rank& rank, const std::vector<std::byte>& data, int peer, int tag) {
  check(rondo_send(data.data(), data.size(), RONDO_UINT8, peer, tag, rank.comm, nullptr), rank.comm);
}

void expect_content(const Guarded& got, const std::vector<std::byte>& sent, const std::string& what) {
  require(same_bytes(sent.data(), got.data(), sent.size()), what + ": wrong content");
  require(all_bytes_are(Guarded::kPoison, got.data() + sent.size(), got.size() - sent.size()),
          what + ": more was written than was sent");
  require(got.guards_intact(), what + ": memory beside the buffer was written");
}

template <typename Body>
void in_every_world(int nranks, Body&& body) {
  for (const Way& way : kWays) {
    for (const char* slot_bytes : {"128", "65536"}) {
      const Environment slots("RONDO_SLOT_BYTES", slot_bytes);
      INFO(way.transport << ", slots of " << slot_bytes << " bytes");
      expect_success(run_world(world_of(way, nranks), body));
    }
  }
}

TEST_CASE("messages of any length arrive whole in a buffer longer than they need") {
  in_every_world(2, [](Rank& rank) {
    int tag = 0;
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{87}, size_t{88}, size_t{89}, size_t{128},
                               size_t{4097}, size_t{65496}, size_t{65497}, size_t{300'001}}) {
      ++tag;
      const auto data = random_bytes(seed_of(0, 1, tag), 0, bytes);
      if (rank.rank == 0) {
        send(rank, data, 1, tag);
        continue;
      }
      Guarded got(bytes + 5, 3);
      rondo_receipt_t receipt{-7, -7, 77};
      check(rondo_recv(got.data(), bytes + 5, RONDO_UINT8, 0, tag, rank.comm, nullptr, &receipt), rank.comm);
      expect_content(got, data, std::to_string(bytes) + " bytes");
      require(receipt.source == 0 && receipt.tag == tag && receipt.count == bytes, "wrong receipt");
    }
  });
}

TEST_CASE("messages that fill the buffer arrive whole, both ways at once, before their receive or after it") {
  in_every_world(2, [](Rank& rank) {
    const int peer = 1 - rank.rank;
    int tag = 0;
    for (const size_t bytes :
         {size_t{8191}, size_t{8192}, size_t{65'535}, size_t{65'536}, size_t{65'537}, size_t{1'000'003}}) {
      for (const bool receive_first : {false, true}) {
        ++tag;
        const auto out = random_bytes(seed_of(rank.rank, peer, tag), 0, bytes);
        Guarded got(bytes, 3);
        const auto receive = [&] {
          check(rondo_recv(got.data(), bytes, RONDO_UINT8, peer, tag, rank.comm, nullptr, nullptr),
                rank.comm);
        };
        if (receive_first) check(rondo_barrier(rank.comm, nullptr), rank.comm);
        check(rondo_group_start());
        if (receive_first) receive();
        send(rank, out, peer, tag);
        if (!receive_first) receive();
        check(rondo_group_end());
        expect_content(got, random_bytes(seed_of(peer, rank.rank, tag), 0, bytes),
                       std::to_string(bytes) + " bytes");
      }
    }
  });
}

TEST_CASE("long messages arrive whole after the kernel has stopped reads of other processes") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    const int peer = 1 - rank.rank;
    for (int tag = 0; tag < 6; ++tag) {
      if (tag == 3 && rank.rank == 1) require(forbid_reading(), "reading cannot be forbidden");
      const size_t bytes = 200'000 + static_cast<size_t>(tag) * 7;
      Guarded got(bytes, 3);
      check(rondo_group_start(), rank.comm);
      const auto data = random_bytes(seed_of(rank.rank, peer, tag), 0, bytes);
      send(rank, data, peer, tag);
      check(rondo_recv(got.data(), bytes, RONDO_UINT8, peer, tag, rank.comm, nullptr, nullptr), rank.comm);
      check(rondo_group_end(), rank.comm);
      expect_content(got, random_bytes(seed_of(peer, rank.rank, tag), 0, bytes), std::to_string(tag));
    }
  }));
}

TEST_CASE("a message of several megabytes arrives whole") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      const auto data = random_bytes(1, 0, 5'000'001);
      if (rank.rank == 0) return send(rank, data, 1, 0);
      Guarded got(data.size());
      check(rondo_recv(got.data(), got.size(), RONDO_UINT8, 0, 0, rank.comm, nullptr, nullptr), rank.comm);
      expect_content(got, data, "5 MB");
    }));
  }
}

/// Rank 0 sends tags 0 to 9, then a last message; rank 1 receives the last one first, so all others wait.
TEST_CASE("messages are matched by tag, whatever the order of the receives") {
  in_every_world(2, [](Rank& rank) {
    constexpr int kLast = 99;
    const auto content = [](int tag) {
      return random_bytes(seed_of(0, 1, tag), 0, static_cast<size_t>(tag) * 61);
    };
    if (rank.rank == 0) {
      check(rondo_group_start());
      std::vector<std::vector<std::byte>> data;
      for (int tag = 0; tag < 10; ++tag) data.push_back(content(tag));
      for (int tag = 0; tag < 10; ++tag) send(rank, data[static_cast<size_t>(tag)], 1, tag);
      const std::byte last{42};
      check(rondo_send(&last, 1, RONDO_UINT8, 1, kLast, rank.comm, nullptr), rank.comm);
      check(rondo_group_end());
      return;
    }
    std::byte last{};
    check(rondo_recv(&last, 1, RONDO_UINT8, 0, kLast, rank.comm, nullptr, nullptr), rank.comm);
    require(last == std::byte{42}, "the last message is wrong");
    for (int tag = 9; tag >= 0; --tag) {
      Guarded got(1000);
      rondo_receipt_t receipt{};
      check(rondo_recv(got.data(), 1000, RONDO_UINT8, 0, tag, rank.comm, nullptr, &receipt), rank.comm);
      expect_content(got, content(tag), "tag " + std::to_string(tag));
      require(receipt.count == content(tag).size(), "wrong receipt");
    }
  });
}

TEST_CASE("messages of one sender and tag arrive in the order sent, long and short ones mixed") {
  in_every_world(2, [](Rank& rank) {
    const auto content = [](size_t number) {
      return random_bytes(seed_of(0, 1, 0, number), 0, number % 3 == 0 ? 700 : number % 5);
    };
    for (size_t number = 0; number < 60; ++number) {
      const auto data = content(number);
      if (rank.rank == 0) {
        send(rank, data, 1, 7);
        continue;
      }
      Guarded got(700);
      const int tag = number % 2 == 0 ? 7 : RONDO_ANY_TAG;
      check(rondo_recv(got.data(), 700, RONDO_UINT8, 0, tag, rank.comm, nullptr, nullptr), rank.comm);
      expect_content(got, data, "message " + std::to_string(number));
    }
  });
}

TEST_CASE("receives from any source and of any tag get every rank's messages exactly once") {
  in_every_world(4, [](Rank& rank) {
    constexpr int kEach = 12;
    const auto content = [](int source, int tag) {
      return random_bytes(seed_of(source, 0, tag), source, static_cast<size_t>(source * 100 + tag));
    };
    if (rank.rank != 0) {
      for (int tag = 0; tag < kEach; ++tag) send(rank, content(rank.rank, tag), 0, tag);
      return;
    }
    std::array<int, 4> next{};
    for (int i = 0; i < 3 * kEach; ++i) {
      Guarded got(1000);
      rondo_receipt_t receipt{};
      check(rondo_recv(got.data(), 1000, RONDO_UINT8, RONDO_ANY_SOURCE, RONDO_ANY_TAG, rank.comm, nullptr,
                       &receipt),
            rank.comm);
      require(receipt.source >= 1 && receipt.source <= 3, "no such source");
      require(receipt.tag == next[static_cast<size_t>(receipt.source)]++,
              "messages of a source came out of order");
      expect_content(got, content(receipt.source, receipt.tag), "any source");
    }
  });
}

/// Every rank sends two tags to every rank, itself included, in one group; receives have another order.
TEST_CASE("all pairs of ranks exchange messages at once") {
  in_every_world(5, [](Rank& rank) {
    const auto bytes = [](int from, int to) { return static_cast<size_t>(((from * 7 + to * 3) % 5) * 333); };
    std::vector<std::vector<std::byte>> sent;
    std::vector<Guarded> got;
    for (int peer = 0; peer < rank.size; ++peer) {
      for (int tag = 0; tag < 2; ++tag) {
        sent.push_back(random_bytes(seed_of(rank.rank, peer, tag), 0, bytes(rank.rank, peer)));
        got.emplace_back(bytes(peer, rank.rank), static_cast<size_t>(tag));
      }
    }
    check(rondo_group_start());
    for (size_t i = 0; i < sent.size(); ++i)
      send(rank, sent[i], static_cast<int>(i / 2), static_cast<int>(i % 2));
    for (size_t i = got.size(); i-- > 0;)
      check(rondo_recv(got[i].data(), got[i].size(), RONDO_UINT8, static_cast<int>(i / 2),
                       static_cast<int>(i % 2), rank.comm, nullptr, nullptr),
            rank.comm);
    check(rondo_group_end());
    for (size_t i = 0; i < got.size(); ++i) {
      const int peer = static_cast<int>(i / 2);
      const int tag = static_cast<int>(i % 2);
      expect_content(got[i], random_bytes(seed_of(peer, rank.rank, tag), 0, bytes(peer, rank.rank)),
                     "from " + std::to_string(peer));
    }
  });
}

TEST_CASE("a group shifts long messages around a ring without waiting for itself") {
  in_every_world(3, [](Rank& rank) {
    const int right = (rank.rank + 1) % rank.size;
    const int left = (rank.rank + rank.size - 1) % rank.size;
    for (size_t round = 0; round < 3; ++round) {
      const auto data = random_bytes(seed_of(rank.rank, right, 0, round), 0, 20'000);
      Guarded got(data.size());
      check(rondo_group_start());
      send(rank, data, right, 0);
      check(rondo_recv(got.data(), got.size(), RONDO_UINT8, left, 0, rank.comm, nullptr, nullptr), rank.comm);
      check(rondo_group_end());
      expect_content(got, random_bytes(seed_of(left, rank.rank, 0, round), 0, 20'000), "the left one's");
    }
  });
}

TEST_CASE("a rank sends to itself, before or after the receive") {
  expect_success(run_world({.nranks = 1}, [](Rank& rank) {
    const auto first = random_bytes(1, 0, 100'000);
    const auto second = random_bytes(2, 0, 3);
    send(rank, first, 0, 1);
    send(rank, second, 0, 2);
    Guarded got(100'000);
    rondo_receipt_t receipt{};
    check(rondo_recv(got.data(), 3, RONDO_UINT8, 0, 2, rank.comm, nullptr, &receipt), rank.comm);
    expect_content(got, second, "the second");
    require(receipt.source == 0 && receipt.tag == 2 && receipt.count == 3, "wrong receipt");
    check(rondo_recv(got.data(), got.size(), RONDO_UINT8, RONDO_ANY_SOURCE, 1, rank.comm, nullptr, nullptr),
          rank.comm);
    expect_content(got, first, "the first");
    check(rondo_group_start());
    check(rondo_recv(got.data(), got.size(), RONDO_UINT8, 0, 3, rank.comm, nullptr, &receipt), rank.comm);
    send(rank, second, 0, 3);
    check(rondo_group_end());
    require(receipt.count == 3, "wrong receipt");
  }));
}

TEST_CASE("a message to oneself with another element size is a mismatch") {
  expect_success(run_world({.nranks = 1}, [](Rank& rank) {
    const int32_t sent = 1;
    int64_t got = 0;
    check(rondo_send(&sent, 1, RONDO_INT32, 0, 0, rank.comm, nullptr), rank.comm);
    check_fails(rondo_recv(&got, 1, RONDO_INT64, 0, 0, rank.comm, nullptr, nullptr), RONDO_MISMATCH,
                {"4 bytes per element", "8 bytes per element"}, rank.comm);
  }));
}

TEST_CASE("a message that is too long is a mismatch that names both calls, eventually on both ranks") {
  for (const size_t bytes : {size_t{10}, size_t{1'000'000}}) {
    INFO(bytes << " bytes");
    expect_success(run_world({.nranks = 2, .transport = "shm"}, [=](Rank& rank) {
      const auto data = random_bytes(1, 0, bytes);
      if (rank.rank == 1) {
        Guarded got(8);
        check_fails(
            rondo_recv(got.data(), 8, RONDO_UINT8, 0, 5, rank.comm, nullptr, nullptr), RONDO_MISMATCH,
            {"rank 0 called send(count=" + std::to_string(bytes), "rank 1 called recv(count=8", "tag=5"},
            rank.comm);
        require(got.guards_intact() && got.data()[0] == Guarded::kPoison, "memory was written all the same");
        return;
      }
      rondo_status_t status = rondo_send(data.data(), bytes, RONDO_UINT8, 1, 5, rank.comm, nullptr);
      if (status == RONDO_OK) status = rondo_barrier(rank.comm, nullptr);
      check_fails(status, RONDO_MISMATCH, {"send(count=", "recv(count=8"}, rank.comm);
    }));
  }
}

TEST_CASE("after a rank has left, a receive from it fails, but one from any source does not") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      Owned comm;
      check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
      int value = rank.rank;
      const Rank here{comm.get(), rank.rank, 3};
      if (rank.rank == 1) {
        check(rondo_recv(&value, 1, RONDO_INT32, 2, 0, here.comm, nullptr, nullptr), here.comm);
        rondo_receipt_t receipt{};
        check(rondo_recv(&value, 1, RONDO_INT32, RONDO_ANY_SOURCE, 1, here.comm, nullptr, &receipt),
              here.comm);
        require(receipt.source == 0 && value == 0, "it is a different message");
      } else if (rank.rank == 2) {
        check(rondo_send(&value, 1, RONDO_INT32, 1, 0, here.comm, nullptr), here.comm);
        check(rondo_destroy(std::exchange(*comm.out(), nullptr)));
        check(rondo_send(&value, 1, RONDO_INT32, 0, 0, rank.comm, nullptr), rank.comm);
      } else {
        check(rondo_recv(&value, 1, RONDO_INT32, 2, 0, rank.comm, nullptr, nullptr), rank.comm);
        value = 0;
        ::usleep(50'000);  // rank 1 is waiting by then, and finds its connection with rank 2 closed
        check(rondo_send(&value, 1, RONDO_INT32, 1, 1, here.comm, nullptr), here.comm);
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      const char* transport = "";
      check(rondo_transport(rank.comm, (rank.rank + 1) % 3, &transport));
      if (rank.rank != 1 || transport != std::string_view("tcp")) return;
      check_fails(rondo_recv(&value, 1, RONDO_INT32, 2, 2, here.comm, nullptr, nullptr), RONDO_REMOTE_ERROR,
                  {"rank 2"}, here.comm);
    }));
  }
}

TEST_CASE("a message with another element size is a mismatch that names both calls") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      std::array<int64_t, 4> values{};
      if (rank.rank == 1) {
        check_fails(
            rondo_recv(values.data(), 4, RONDO_INT64, 0, 0, rank.comm, nullptr, nullptr), RONDO_MISMATCH,
            {"rank 0", "send(count=2, 4 bytes per element", "rank 1", "recv(count=4, 8 bytes per element"},
            rank.comm);
        return;
      }
      rondo_status_t status = rondo_send(values.data(), 2, RONDO_INT32, 1, 0, rank.comm, nullptr);
      if (status == RONDO_OK) status = rondo_barrier(rank.comm, nullptr);
      check_fails(status, RONDO_MISMATCH, {"4 bytes per element", "8 bytes per element"}, rank.comm);
    }));
  }
}

TEST_CASE("a message that no rank receives is found at the end") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    int value = 3;
    if (rank.rank == 0) {
      check(rondo_send(&value, 1, RONDO_INT32, 1, 4, rank.comm, nullptr), rank.comm);
      check(rondo_send(&value, 1, RONDO_INT32, 1, 9, rank.comm, nullptr), rank.comm);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      rondo_finalize(rank.comm);  // may report the error, or the other rank may be gone before
      return;
    }
    check(rondo_recv(&value, 1, RONDO_INT32, 0, 9, rank.comm, nullptr, nullptr), rank.comm);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    check_fails(rondo_finalize(rank.comm), RONDO_MISMATCH,
                {"1 message was sent to rank 1 and never received"}, rank.comm);
  }));
}

TEST_CASE("a message to a rank that never receives from its sender is found at the end") {
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [](Rank& rank) {
    if (rank.rank == 2) check(rondo_send(&rank.rank, 1, RONDO_INT32, 0, 4, rank.comm, nullptr), rank.comm);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 0)
      check_fails(rondo_finalize(rank.comm), RONDO_MISMATCH,
                  {"rank 2 sent rank 0 a message that was never received"}, rank.comm);
    else
      rondo_finalize(rank.comm);  // may report the error, or the other rank may be gone before
  }));
}

TEST_CASE("a rank that sends from memory that is not mapped over shm ends, and its peer names it") {
  for (const char* reads : {"0", "1"}) {
    INFO(reads);
    WorldOptions options{.nranks = 2, .transport = "shm"};
    options.environment = {{"RONDO_READ_PEER", reads}};
    const std::vector<Outcome> outcomes = run_world(options, [](Rank& rank) {
      constexpr size_t kBytes = size_t{1} << 20;
      std::vector<std::byte> into(kBytes);
      if (rank.rank == 1)
        return check_fails(rondo_recv(into.data(), kBytes, RONDO_UINT8, 0, 0, rank.comm, nullptr, nullptr),
                           RONDO_REMOTE_ERROR, {"rank 0 ("}, rank.comm);
      const rlimit no_core{};
      ::setrlimit(RLIMIT_CORE, &no_core);
      ::signal(SIGSEGV, SIG_DFL);
      void* const nowhere = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      rondo_send(nowhere, kBytes, RONDO_UINT8, 1, 0, rank.comm, nullptr);
    });
    CHECK(outcomes[0].signal == SIGSEGV);
    CHECK(outcomes[1].failure() == "");
  }
}

TEST_CASE("a long message over tcp from memory that is not mapped is refused, at both ranks") {
  expect_success(run_world({.nranks = 2, .transport = "tcp"}, [](Rank& rank) {
    constexpr size_t kBytes = size_t{1} << 20;
    void* const nowhere = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(nowhere != MAP_FAILED, "no address space");
    std::vector<std::byte> into(kBytes);
    const rondo_status_t status =
        rank.rank == 0 ? rondo_send(nowhere, kBytes, RONDO_UINT8, 1, 0, rank.comm, nullptr)
                       : rondo_recv(into.data(), kBytes, RONDO_UINT8, 0, 0, rank.comm, nullptr, nullptr);
    check_fails(status, RONDO_INVALID_USAGE, {"sending to rank 1: Bad address", "not in its memory"},
                rank.comm);
    ::munmap(nowhere, kBytes);
  }));
}

TEST_CASE("a receive without a message ends at the deadline") {
  WorldOptions options{.nranks = 2, .transport = "shm"};
  options.call_timeout_ms = 400;
  expect_success(run_world(options, [](Rank& rank) {
    int got = 0;
    if (rank.rank == 0)
      check_fails(rondo_recv(&got, 1, RONDO_INT32, 1, 3, rank.comm, nullptr, nullptr), RONDO_TIMEOUT,
                  {"rank 1", "0.4 s"}, rank.comm);
    else
      check_fails(rondo_recv(&got, 1, RONDO_INT32, 0, 3, rank.comm, nullptr, nullptr), RONDO_TIMEOUT,
                  {"0.4 s"}, rank.comm);
  }));
}

}  // namespace
}  // namespace rondo::test
