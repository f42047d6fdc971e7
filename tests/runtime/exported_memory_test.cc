// SPDX-License-Identifier: Apache-2.0
// Calls on memory from rondo_mem_alloc(), which ranks in other processes read in place, and from and to which
// devices bring messages.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bytes.h"
#include "catch.h"
#include "exchange.h"
#include "guarded.h"
#include "oracle.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

std::shared_ptr<std::byte> allocate(size_t bytes) {
  void* memory = nullptr;
  check(rondo_mem_alloc(&memory, bytes));
  return {static_cast<std::byte*>(memory), [](std::byte* begin) { rondo_mem_free(begin); }};
}

const ForeignMemory kExported{.allocate = allocate, .copy = [](void* to, const void* from, size_t bytes) {
                                std::memcpy(to, from, bytes);
                              }};

/// The one that RONDO_TEST_TRANSPORT names, if it does.
std::string transport_of_processes() {
  const char* const only = std::getenv("RONDO_TEST_TRANSPORT");
  return only != nullptr ? only : "shm";
}

/// Every call uses its own allocation, freed after the call.
void random_calls(Rank& rank, uint64_t seed) {
  rank.memory = &kExported;
  for (uint64_t i = 0; i < 60; ++i)
    run_trial(rank, random_trial(mix(seed, i), rank.size, i % 3 == 0 ? 100'000 : 3000));
}

TEST_CASE("calls on memory from rondo_mem_alloc() are right, however often it is freed and reallocated") {
  const Environment exchange("RONDO_EXCHANGE_BYTES", "0");
  for (const Way& way : kWays) {
    for (const int nranks : {2, 3, 4}) {
      INFO(way.transport << ", " << nranks << " ranks");
      expect_success(run_world(world_of(way, nranks), [=](Rank& rank) {
        random_calls(rank, 9000 + static_cast<uint64_t>(nranks));
      }));
    }
  }
}

TEST_CASE("all algorithms are right on the same memory from rondo_mem_alloc() in every call") {
  const Environment groups = in_groups(4);
  expect_success(run_world({.nranks = 4, .transport = transport_of_processes()}, [](Rank& rank) {
    constexpr size_t kCount = 200'000;
    constexpr int kRounds = kSanitized ? 6 : 20;
    const auto memory = allocate(2 * kCount * sizeof(int));
    int* const send = reinterpret_cast<int*>(memory.get());
    int* const recv = send + kCount;
    for (const std::string& algorithm : algorithms_of("all_reduce", rank.size)) {
      const Child child(rank, "all_reduce=" + algorithm);
      const rondo_comm_t comm = child.rank.comm;
      for (int round = 0; round < kRounds; ++round) {
        for (size_t i = 0; i < kCount; ++i) send[i] = static_cast<int>(i) * (rank.rank + 1) + round;
        int* const from = round % 2 == 0 ? send : recv;
        if (from == recv) std::memcpy(recv, send, kCount * sizeof(int));
        check(rondo_all_reduce(from, recv, kCount, RONDO_INT32, RONDO_SUM, comm, nullptr), comm);
        for (size_t i = 0; i < kCount; ++i)
          require(recv[i] == static_cast<int>(i) * 10 + 4 * round, [&] { return algorithm + ": wrong sum"; });
      }
    }
  }));
}

TEST_CASE("long messages are taken from memory that peers map or read, and that is reusable at once") {
  const bool is_seen = GENERATE(true, false);
  const Environment reads("RONDO_READ_PEER", is_seen ? "0" : "1");
  expect_success(run_world({.nranks = 2, .transport = transport_of_processes()}, [=](Rank& rank) {
    constexpr size_t kBytes = 3'000'000;
    const std::unique_ptr<std::byte[]> own(is_seen ? nullptr : new std::byte[kBytes]);
    const auto memory = is_seen ? allocate(kBytes) : std::shared_ptr<std::byte>(own.get(), [](auto*) {});
    for (int round = 0; round < 10; ++round) {
      if (rank.rank == 0) {
        std::memset(memory.get(), round + 1, kBytes);
        check(rondo_send(memory.get(), kBytes, RONDO_UINT8, 1, 0, rank.comm, nullptr), rank.comm);
        std::memset(memory.get(), 0xee, kBytes);
      } else {
        check(rondo_recv(memory.get(), kBytes, RONDO_UINT8, 0, 0, rank.comm, nullptr, nullptr), rank.comm);
        require(all_bytes_are(static_cast<std::byte>(round + 1), memory.get(), kBytes),
                "a byte of a later message");
      }
    }
  }));
}

TEST_CASE("more allocations than a peer keeps mapped work as well as few") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    constexpr size_t kBytes = 40'000;
    std::vector<std::shared_ptr<std::byte>> pieces;
    for (int i = 0; i < 300; ++i) {
      pieces.push_back(allocate(kBytes));
      std::byte* const piece = pieces.back().get();
      std::memset(piece, rank.rank == 0 ? i % 251 : 0xee, kBytes);
      check(rondo_broadcast(piece, piece, kBytes, RONDO_UINT8, 0, rank.comm, nullptr), rank.comm);
      require(all_bytes_are(static_cast<std::byte>(i % 251), piece, kBytes), "wrong byte");
    }
  }));
}

void all_reduce_and_check(const Rank& rank, std::byte* memory, size_t bytes) {
  auto* const values = reinterpret_cast<int*>(memory);
  const size_t count = bytes / sizeof(int);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i) + rank.rank;
  std::vector<int> sums(count);
  check(rondo_all_reduce(values, sums.data(), count, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
  for (size_t i = 0; i < count; ++i) require(sums[i] == 2 * static_cast<int>(i) + 1, "wrong sum");
}

TEST_CASE("peers read new memory mapped at the address of freed memory from rondo_mem_alloc()") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    constexpr size_t kBytes = size_t{1} << 20;
    auto exported = allocate(kBytes);
    void* const place = exported.get();
    for (int i = 0; i < 3; ++i) all_reduce_and_check(rank, exported.get(), kBytes);
    exported.reset();
    void* const again = ::mmap(place, kBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    require(again == place, "the place is taken");
    for (int i = 0; i < 3; ++i) all_reduce_and_check(rank, static_cast<std::byte*>(again), kBytes);
    ::munmap(again, kBytes);
  }));
}

TEST_CASE("exported memory whose calls are too short to be read in place does no harm to later calls") {
  const Environment exchange("RONDO_EXCHANGE_BYTES", "0");
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    for (int i = 0; i < 600; ++i) all_reduce_and_check(rank, allocate(4096).get(), 4096);
    const auto memory = allocate(size_t{1} << 20);
    for (int i = 0; i < 3; ++i) all_reduce_and_check(rank, memory.get(), size_t{1} << 20);
  }));
}

TEST_CASE("when descriptors run out, rondo_mem_alloc() still works, and its memory is good for calls") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    rlimit limit{};
    require(::getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = 100;
    require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    std::vector<std::shared_ptr<std::byte>> pieces;
    for (int i = 0; i < 300; ++i) pieces.push_back(allocate(65'536));
    for (const auto& piece : pieces) all_reduce_and_check(rank, piece.get(), 65'536);
  }));
}

TEST_CASE("a rank that aborts does not keep its peers waiting long, though messages lie in exported memory") {
  expect_success(
      run_world({.nranks = 5, .transport = "shm", .algorithm = "all_reduce=one_shot"}, [](Rank& rank) {
        constexpr size_t kCount = size_t{1} << 18;
        const auto memory = allocate(2 * kCount * sizeof(int));
        int* const values = reinterpret_cast<int*>(memory.get());
        for (int i = 0; i < 2; ++i)
          check(rondo_all_reduce(values, values + kCount, kCount, RONDO_INT32, RONDO_MAX, rank.comm, nullptr),
                rank.comm);
        const auto began = std::chrono::steady_clock::now();
        if (rank.rank == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
          check(rondo_abort(rank.comm), rank.comm);
        } else {
          require(rondo_all_reduce(values, values + kCount, kCount, RONDO_INT32, RONDO_MAX, rank.comm,
                                   nullptr) != RONDO_OK,
                  "the call cannot have succeeded");
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        // If each of four peers kept the others waiting, it would take more than half a second.
        require(took.count() < 0.45, "it took " + std::to_string(took.count()) + " s");
      }));
}

TEST_CASE("a forked process that frees memory from rondo_mem_alloc() leaves its parent's alone") {
  void* memory = nullptr;
  check(rondo_mem_alloc(&memory, 10'000));
  std::memset(memory, 7, 10'000);
  CHECK(Process([&] { check(rondo_mem_free(memory)); }).wait().failure() == "");
  CHECK(static_cast<char*>(memory)[9'999] == 7);
  check(rondo_mem_free(memory));
}

}  // namespace
}  // namespace rondo::test
