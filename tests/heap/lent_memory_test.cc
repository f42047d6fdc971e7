// SPDX-License-Identifier: Apache-2.0
// rondo_malloc() and its companions behave as malloc() and its own do, whatever the size.
#include <rondo/rondo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "sanitized.h"
#include "xorshift.h"

namespace rondo::test {
namespace {

constexpr size_t kLarge = size_t{1} << 20;

/// A block that is filled with one value.
struct Filled {
  unsigned char* block = nullptr;
  size_t bytes = 0;
  unsigned char value = 0;

  bool is_intact() const {
    for (size_t i = 0; i < bytes; ++i)
      if (block[i] != value) return false;
    return true;
  }
  void fill(void* at, size_t size, uint64_t with) {
    block = static_cast<unsigned char*>(at);
    bytes = size;
    value = static_cast<unsigned char>(with);
    if (bytes != 0) std::memset(block, value, bytes);
  }
};

size_t random_bytes(XorShift& random) {
  constexpr size_t kThreshold = size_t{256} << 10;
  switch (random.next() % 3) {
    case 0: return random.next() % 3000;
    case 1: return kThreshold - 5 + random.next() % 10;
    default: return random.next() % 2'000'000;
  }
}

/// How many blocks were wrong.
int churn(uint64_t seed, int rounds) {
  XorShift random(seed, 0);
  std::vector<Filled> blocks(20);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    Filled& one = blocks[random.next() % blocks.size()];
    const size_t bytes = random_bytes(random);
    if (!one.is_intact()) ++wrong;
    switch (random.next() % 4) {
      case 0: {
        rondo_free(one.block);
        one.fill(rondo_malloc(bytes), bytes, random.next());
        break;
      }
      case 1: {
        rondo_free(one.block);
        one.fill(nullptr, 0, 0);
        Filled zeros{static_cast<unsigned char*>(rondo_calloc(bytes, 1)), bytes, 0};
        if (!zeros.is_intact()) ++wrong;
        one.fill(zeros.block, bytes, random.next());
        break;
      }
      case 2: {
        rondo_free(one.block);
        const size_t alignment = size_t{8} << random.next() % 15;
        void* const made = rondo_aligned_alloc(alignment, bytes);
        if (reinterpret_cast<uintptr_t>(made) % alignment != 0) ++wrong;
        one.fill(made, bytes, random.next());
        break;
      }
      default: {
        if (bytes == 0) break;
        Filled moved{static_cast<unsigned char*>(rondo_realloc(one.block, bytes)), std::min(bytes, one.bytes),
                     one.value};
        if (moved.block == nullptr || !moved.is_intact()) ++wrong;
        one.fill(moved.block, bytes, random.next());
      }
    }
  }
  for (const Filled& one : blocks) {
    if (!one.is_intact()) ++wrong;
    rondo_free(one.block);
  }
  return wrong;
}

TEST_CASE("blocks keep their contents, are aligned, zeros and moved as they should be") {
  REQUIRE(churn(1, 3000) == 0);
}

TEST_CASE("threads may allocate at the same time") {
  std::vector<int> wrong(3);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < wrong.size(); ++i) threads.emplace_back([&, i] { wrong[i] = churn(10 + i, 800); });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == std::vector<int>(wrong.size()));
}

TEST_CASE("a block of malloc() may be resized and freed") {
  void* const block = std::malloc(100);
  std::memset(block, 7, 100);
  void* const longer = rondo_realloc(block, kLarge);
  REQUIRE(Filled{static_cast<unsigned char*>(longer), 100, 7}.is_intact());
  rondo_free(longer);
  rondo_free(std::malloc(100));
  rondo_free(nullptr);
  rondo_free(rondo_realloc(nullptr, kLarge));
}

TEST_CASE("alignments that are no power of two are refused") {
  for (const size_t alignment : {0, 3, 24}) {
    errno = 0;
    REQUIRE(rondo_aligned_alloc(alignment, kLarge) == nullptr);
    REQUIRE(errno == EINVAL);
  }
}

TEST_CASE("what no memory holds is refused, and a block that was to grow remains") {
  if (kSanitized) return;  // sanitizers end the program instead
  errno = 0;
  REQUIRE(rondo_malloc(SIZE_MAX / 2) == nullptr);
  REQUIRE(errno == ENOMEM);
  REQUIRE(rondo_calloc(SIZE_MAX / 2, 3) == nullptr);
  REQUIRE(rondo_aligned_alloc(64, SIZE_MAX / 2) == nullptr);
  Filled block;
  block.fill(rondo_malloc(kLarge), kLarge, 9);
  REQUIRE(rondo_realloc(block.block, SIZE_MAX / 2) == nullptr);
  REQUIRE(block.is_intact());
  rondo_free(block.block);
}

TEST_CASE("parent and child have a copy each after a fork") {
  Filled block;
  block.fill(rondo_malloc(kLarge), kLarge, 5);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char word = 0;
    const bool told = ::read(ready[0], &word, 1) == 1;  // the parent has written by now
    const bool was = block.is_intact();
    std::memset(block.block, 6, kLarge);
    const bool grows = churn(3, 100) == 0;
    ::_exit(told && was && grows ? 0 : 1);
  }
  std::memset(block.block, block.value = 4, kLarge);
  REQUIRE(::write(ready[1], "x", 1) == 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  REQUIRE(block.is_intact());
  ::close(ready[0]);
  ::close(ready[1]);
  rondo_free(block.block);
}

TEST_CASE("NumPy's handler has the fields of NEP 49") {
  struct Handler {
    char name[127];
    unsigned char version;
    void* context;
    void* (*malloc)(void*, size_t);
    void* (*calloc)(void*, size_t, size_t);
    void* (*realloc)(void*, void*, size_t);
    void (*free)(void*, void*, size_t);
  };
  const auto& handler = *static_cast<const Handler*>(rondo_numpy_handler());
  REQUIRE(std::string(handler.name) == "rondo");
  REQUIRE(int{handler.version} == 1);
  void* block = handler.calloc(handler.context, kLarge, 1);
  REQUIRE(Filled{static_cast<unsigned char*>(block), kLarge, 0}.is_intact());
  block = handler.realloc(handler.context, block, 2 * kLarge);
  REQUIRE(block != nullptr);
  handler.free(handler.context, block, 2 * kLarge);
  handler.free(handler.context, handler.malloc(handler.context, 10), 10);
}

}  // namespace
}  // namespace rondo::test
