// SPDX-License-Identifier: Apache-2.0
// A rank whose buffers are malloc()'s: ranks CASE, started by rondo-run --heap; or rondo_malloc()'s: ranks
// CASE rondo. Ends with 1 and a sentence if a result is wrong.
#include <rondo/rondo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "xorshift.h"

namespace rondo::test {
namespace {

constexpr size_t kCount = 300'000;

void fail(const char* what) {
  std::fprintf(stderr, "ranks: %s\n", what);
  std::_Exit(1);
}
void require(bool holds, const char* what) {
  if (!holds) fail(what);
}
void check(rondo_status_t status) {
  if (status != RONDO_OK) fail(rondo_last_error(nullptr));
}

struct Allocator {
  void* (*malloc)(size_t bytes) = std::malloc;
  void (*free)(void* block) = std::free;
} allocator;

struct Freed {
  void operator()(int32_t* block) const { allocator.free(block); }
};
using Block = std::unique_ptr<int32_t[], Freed>;

Block allocated(size_t count) {
  auto* const block = static_cast<int32_t*>(allocator.malloc(count * sizeof(int32_t)));
  require(block != nullptr, "there is no memory");
  return Block(block);
}

/// What rank `rank` has at `index` in round `round`.
int32_t value(int rank, size_t index, int round) {
  return static_cast<int32_t>(
      (index * 7 + static_cast<size_t>(rank) * 1009 + static_cast<size_t>(round) * 13) % 100'003);
}

struct World {
  rondo_comm_t comm = nullptr;
  int rank = 0;
  int size = 0;
};

void fill(const World& world, int32_t* block, size_t count, int round, size_t from = 0) {
  for (size_t i = 0; i < count; ++i) block[i] = value(world.rank, from + i, round);
}

int32_t sum(const World& world, size_t index, int round) {
  int32_t all = 0;
  for (int rank = 0; rank < world.size; ++rank) all += value(rank, index, round);
  return all;
}

void all_reduce(const World& world, int32_t* from, int32_t* to, size_t count, int round) {
  fill(world, from, count, round);
  check(rondo_all_reduce(from, to, count, RONDO_INT32, RONDO_SUM, world.comm, nullptr));
  for (size_t i = 0; i < count; ++i) require(to[i] == sum(world, i, round), "all_reduce: a wrong sum");
}

void all_gather(const World& world, int32_t* from, int32_t* to, size_t count, int round) {
  fill(world, from, count, round);
  check(rondo_all_gather(from, to, count, RONDO_INT32, world.comm, nullptr));
  for (int rank = 0; rank < world.size; ++rank)
    for (size_t i = 0; i < count; ++i)
      require(to[static_cast<size_t>(rank) * count + i] == value(rank, i, round),
              "all_gather: a wrong element");
}

void reduce_scatter(const World& world, int32_t* from, int32_t* to, size_t count, int round) {
  fill(world, from, count * static_cast<size_t>(world.size), round);
  check(rondo_reduce_scatter(from, to, count, RONDO_INT32, RONDO_SUM, world.comm, nullptr));
  const size_t first = count * static_cast<size_t>(world.rank);
  for (size_t i = 0; i < count; ++i)
    require(to[i] == sum(world, first + i, round), "reduce_scatter: a wrong sum");
}

void broadcast(const World& world, int32_t* from, int32_t* to, size_t count, int round) {
  const int root = round % world.size;
  fill(world, from, count, round);
  check(rondo_broadcast(from, to, count, RONDO_INT32, root, world.comm, nullptr));
  for (size_t i = 0; i < count; ++i) require(to[i] == value(root, i, round), "broadcast: a wrong element");
}

void exchange(const World& world, int32_t* from, int32_t* to, size_t count, int round) {
  const int next = (world.rank + 1) % world.size, before = (world.rank + world.size - 1) % world.size;
  fill(world, from, count, round);
  check(rondo_group_start());
  check(rondo_send(from, count, RONDO_INT32, next, 0, world.comm, nullptr));
  check(rondo_recv(to, count, RONDO_INT32, before, 0, world.comm, nullptr, nullptr));
  check(rondo_group_end());
  for (size_t i = 0; i < count; ++i) require(to[i] == value(before, i, round), "recv: a wrong element");
}

using Collective = void (*)(const World&, int32_t*, int32_t*, size_t, int);
constexpr Collective kCollectives[] = {all_reduce, all_gather, reduce_scatter, broadcast, exchange};

/// Calls of random kinds and lengths, of blocks that live for one or some of them. All ranks draw alike.
void random_calls(const World& world, int rounds) {
  XorShift random(4711, 0);
  Block from, to;
  size_t room = 0;
  for (int round = 0; round < rounds; ++round) {
    const size_t count = 1 + random.next() % kCount;
    if (round % 3 == 0 || count > room) {
      room = count;
      from = allocated(room * static_cast<size_t>(world.size));
      to = allocated(room * static_cast<size_t>(world.size));
    }
    kCollectives[random.next() % std::size(kCollectives)](world, from.get(), to.get(), count, round);
  }
}

void calls(const World& world) { random_calls(world, 100); }

/// The same blocks all the time, as in a benchmark.
void same_blocks(const World& world) {
  const Block from = allocated(kCount), to = allocated(kCount);
  for (int round = 0; round < 30; ++round) all_reduce(world, from.get(), to.get(), kCount, round);
}

/// A thread forks all the while. Children see their blocks as they were, and write to them.
void forks(const World& world) {
  std::atomic<bool> is_over{false};
  int children = 0;
  std::thread forker([&] {
    for (; !is_over; ++children) {
      const Block mark = allocated(kCount);
      std::memset(mark.get(), children & 0x7f, kCount * sizeof(int32_t));
      const pid_t child = ::fork();
      if (child == 0) {
        const int32_t was = mark[kCount - 1];
        std::memset(mark.get(), 0x7f, kCount * sizeof(int32_t));
        std::_Exit(was == (children & 0x7f) * 0x01010101 ? 0 : 1);
      }
      int status = 0;
      require(::waitpid(child, &status, 0) == child && status == 0, "a child has lost its memory");
      require(mark[0] == (children & 0x7f) * 0x01010101, "a child's writes reach the parent");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  random_calls(world, 60);
  const Block from = allocated(kCount), to = allocated(kCount);
  for (int round = 0; round < 60; ++round) all_reduce(world, from.get(), to.get(), kCount, round);
  is_over = true;
  forker.join();
  require(children > 10, "few children");
}

/// Prints the lowest and the median time of calls on the same blocks, by bytes (docs/heap.md).
void times(const World& world) {
  for (size_t bytes = size_t{1} << 18; bytes <= size_t{1} << 26; bytes *= 4) {
    const size_t count = bytes / sizeof(int32_t);
    const Block from = allocated(count), to = allocated(count);
    fill(world, from.get(), count, 0);
    std::vector<double> microseconds;
    for (int call = 0; call < 200; ++call) {
      const auto began = std::chrono::steady_clock::now();
      check(rondo_all_reduce(from.get(), to.get(), count, RONDO_INT32, RONDO_SUM, world.comm, nullptr));
      microseconds.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    }
    std::sort(microseconds.begin(), microseconds.end());
    if (world.rank == 0)
      std::printf("%zu bytes: lowest %.0f us, median %.0f us\n", bytes, microseconds.front(),
                  microseconds[100]);
  }
}

int run(const std::string& name) {
  World world;
  check(rondo_init(&world.comm, nullptr, nullptr));
  check(rondo_rank(world.comm, &world.rank));
  check(rondo_size(world.comm, &world.size));
  if (name == "calls") calls(world);
  if (name == "same_blocks") same_blocks(world);
  if (name == "forks") forks(world);
  if (name == "times") times(world);
  check(rondo_finalize(world.comm));
  check(rondo_destroy(world.comm));
  return 0;
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[2]) == "rondo") rondo::test::allocator = {rondo_malloc, rondo_free};
  return rondo::test::run(argc > 1 ? argv[1] : "");
}
