// SPDX-License-Identifier: Apache-2.0
// Cases of program.cc: blocks and their contents.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "program.h"
#include "xorshift.h"

namespace rondo::test {
namespace {

/// Resident bytes of this process.
size_t resident() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  size_t all = 0, there = 0;
  require(file != nullptr && std::fscanf(file, "%zu %zu", &all, &there) == 2, "/proc/self/statm");
  std::fclose(file);
  return there * kPage;
}

struct Piece {
  char* block = nullptr;
  size_t bytes = 0;
  uint64_t mark = 0;
};

uint64_t below(XorShift& random, uint64_t end) { return random.next() % end; }

size_t random_bytes(XorShift& random) {
  switch (below(random, 4)) {
    case 0: return below(random, 2000);
    case 1: return 200'000 + below(random, 120'000);  // on both sides of the threshold
    case 2: return below(random, 3'000'000);
    default: return below(random, 50) == 0 ? 40'000'000 : below(random, 600'000);
  }
}

char* allocated(XorShift& random, size_t bytes) {
  if (below(random, 4) == 0) {
    char* const zeros = static_cast<char*>(std::calloc(bytes + 1, 1));
    for (size_t i = 0; i <= bytes; i += 61) require(zeros[i] == 0, "calloc() gives no zeros");
    return zeros;
  }
  if (below(random, 4) == 0) {
    const size_t alignment = size_t{8} << below(random, 20);
    void* made = nullptr;
    require(::posix_memalign(&made, alignment, bytes) == 0, "posix_memalign");
    require(reinterpret_cast<uintptr_t>(made) % alignment == 0, "posix_memalign() does not align");
    return static_cast<char*>(made);
  }
  return static_cast<char*>(std::malloc(bytes));
}

void one_move(XorShift& random, Piece& piece) {
  require(piece.block == nullptr || has(piece.block, piece.bytes, piece.mark),
          "a block has lost its contents");
  if (piece.block != nullptr && below(random, 3) == 0) {
    const size_t bytes = random_bytes(random) + 1;
    if (bytes < piece.bytes) put(piece.block, bytes, piece.mark);
    // Marks are in the same places, up to the end.
    char* const moved = static_cast<char*>(std::realloc(piece.block, bytes));
    require(moved != nullptr, "realloc");
    const size_t kept = std::min(bytes, piece.bytes);
    for (size_t i = 0; i + sizeof piece.mark < kept; i += 509 * sizeof piece.mark)
      require(std::memcmp(moved + i, &piece.mark, sizeof piece.mark) == 0, "realloc() loses contents");
    piece = {moved, bytes, piece.mark};
  } else {
    std::free(piece.block);
    const size_t bytes = random_bytes(random) + 1;
    piece = {allocated(random, bytes), bytes, random.next()};
    require(piece.block != nullptr, "there is no memory");
    require(::malloc_usable_size(piece.block) >= bytes, "malloc_usable_size() is too little");
  }
  put(piece.block, piece.bytes, piece.mark);
}

}  // namespace

void moves(uint64_t seed, int count) {
  XorShift random(seed + 1, 0);
  std::vector<Piece> pieces(12);
  for (int i = 0; i < count; ++i) one_move(random, pieces[below(random, pieces.size())]);
  for (const Piece& piece : pieces) {
    require(piece.block == nullptr || has(piece.block, piece.bytes, piece.mark),
            "a block has lost its contents");
    std::free(piece.block);
  }
}

void put(char* block, size_t bytes, uint64_t mark) {
  for (size_t i = 0; i + sizeof mark <= bytes; i += 509 * sizeof mark)
    std::memcpy(block + i, &mark, sizeof mark);
  if (bytes != 0) block[bytes - 1] = static_cast<char>(mark);
}

bool has(const char* block, size_t bytes, uint64_t mark) {
  for (size_t i = 0; i + sizeof mark < bytes; i += 509 * sizeof mark)
    if (std::memcmp(block + i, &mark, sizeof mark) != 0) return false;
  return bytes == 0 || block[bytes - 1] == static_cast<char>(mark);
}

void stress() {
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(moves, 100 + i, 1500);
  for (std::thread& thread : threads) thread.join();
}

/// Blocks that one thread allocates and another frees.
void handed_over() {
  std::atomic<char*> hand{nullptr};
  std::thread taker([&] {
    for (int i = 0; i < 2000; ++i) {
      char* block = nullptr;
      while ((block = hand.exchange(nullptr)) == nullptr) std::this_thread::yield();
      require(has(block, kLarge, static_cast<uint64_t>(i)), "a block that was handed over is another one");
      std::free(block);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    char* const block = static_cast<char*>(std::malloc(kLarge));
    put(block, kLarge, static_cast<uint64_t>(i));
    char* none = nullptr;
    while (!hand.compare_exchange_weak(none, block)) {
      none = nullptr;
      std::this_thread::yield();
    }
  }
  taker.join();
}

void resizing() {
  char* block = nullptr;
  size_t had = 0;
  for (size_t bytes = 1000; bytes < 100'000'000; bytes = bytes * 3 / 2) {
    block = static_cast<char*>(std::realloc(block, bytes));
    require(has(block, had, 7), "growing loses contents");
    put(block, bytes, 7);
    had = bytes;
  }
  for (size_t bytes = 50'000'000; bytes > 1000; bytes /= 2) {
    block = static_cast<char*>(std::realloc(block, bytes));
    uint64_t mark = 0;
    std::memcpy(&mark, block, sizeof mark);
    require(mark == 7, "shrinking loses contents");
  }
  require(std::realloc(block, 0) == nullptr, "realloc() to nothing");
  volatile size_t much = SIZE_MAX / 2;
  block = static_cast<char*>(::reallocarray(nullptr, 1000, 1000));
  require(block != nullptr && ::reallocarray(block, much, 3) == nullptr && errno == ENOMEM, "overflow");
  std::free(block);
}

void aligned() {
  for (size_t alignment = 16; alignment <= size_t{1} << 27; alignment *= 2) {
    for (void* const block : {::aligned_alloc(alignment, 4 * kLarge), ::memalign(alignment, 3 * kLarge)}) {
      require(block != nullptr && reinterpret_cast<uintptr_t>(block) % alignment == 0, "not aligned");
      std::memset(block, 1, kLarge);
      std::free(block);
    }
  }
  void* none = nullptr;
  require(::posix_memalign(&none, 3, kLarge) == EINVAL, "posix_memalign() with 3");
  void* const page = ::valloc(kLarge);
  require(reinterpret_cast<uintptr_t>(page) % kPage == 0, "valloc() does not align");
  std::free(page);
}

void refused() {
  volatile size_t much = SIZE_MAX / 2;
  require(std::malloc(much) == nullptr && errno == ENOMEM, "malloc() of half the address space");
  require(std::calloc(much, 4) == nullptr && errno == ENOMEM, "calloc() of more than there is");
  errno = EBADF;
  std::free(std::malloc(100 * kLarge));
  require(errno == EBADF, "free() changes errno");
}

/// What is freed leaves the process: all of blocks beyond 32 MiB, and most of others.
void returned() {
  const size_t before = resident();
  for (const size_t bytes : {200 * kLarge, 40 * kLarge, 8 * kLarge, kLarge / 2}) {
    std::vector<char*> blocks;
    for (size_t sum = 0; sum < 200 * kLarge; sum += bytes) {
      blocks.push_back(static_cast<char*>(std::malloc(bytes)));
      std::memset(blocks.back(), 1, bytes);
    }
    require(resident() > before + 190 * kLarge, "blocks are not there");
    require(resident() < before + 215 * kLarge + 64 * kLarge, "blocks take more than their memory");
    for (char* const block : blocks) std::free(block);
    require(resident() < before + 70 * kLarge, "freed blocks stay");
  }
  ::malloc_trim(0);
  require(resident() < before + 4 * kLarge, "malloc_trim() leaves freed blocks");
}

/// A long block that has to move to grow is never there twice.
void moving() {
  char* const block = static_cast<char*>(std::malloc(200 * kLarge));
  char* const behind = static_cast<char*>(std::malloc(kLarge));
  for (size_t i = 0; i < 200 * kLarge; i += kPage) block[i] = static_cast<char>(i >> 12);
  char* const moved = static_cast<char*>(std::realloc(block, 300 * kLarge));
  for (size_t i = 0; i < 200 * kLarge; i += kPage)
    require(moved[i] == static_cast<char>(i >> 12), "moving loses contents");
  rusage used{};
  require(::getrusage(RUSAGE_SELF, &used) == 0 && used.ru_maxrss < 250 << 10, "a block is there twice");
  std::free(behind);
  std::free(moved);
}

/// Memory that no one touches takes none.
void untouched() {
  const size_t before = resident();
  char* const zeros = static_cast<char*>(std::calloc(1000, kLarge));
  char* const any = static_cast<char*>(std::malloc(1000 * kLarge));
  require(zeros != nullptr && any != nullptr && resident() < before + 2 * kLarge,
          "untouched memory is there");
  std::free(zeros);
  std::free(any);
}

}  // namespace rondo::test
