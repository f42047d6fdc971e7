// SPDX-License-Identifier: Apache-2.0
// Cases of program.cc: what forks leave of blocks.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

namespace rondo::test {

void expect_end(pid_t child) {
  require(child > 0, "fork");
  int status = 0;
  require(::waitpid(child, &status, 0) == child, "waitpid");
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed");
}

void discarded() {
  for (const bool after_fork : {false, true}) {
    char* const block = static_cast<char*>(::aligned_alloc(kPage, 4 * kLarge));
    std::memset(block, 5, 4 * kLarge);
    if (after_fork) {
      const pid_t child = ::fork();
      if (child == 0) std::_Exit(0);
      expect_end(child);
    }
    require(::madvise(block + kLarge, kLarge, MADV_DONTNEED) == 0, "madvise");
    require(
        block[kLarge - 1] == 5 && block[kLarge] == 0 && block[2 * kLarge - 1] == 0 && block[2 * kLarge] == 5,
        "MADV_DONTNEED leaves no zeros");
    std::free(block);
  }
}

/// Parent and child each see what was there and what they write themselves, however deep.
void generations(int depth, char* block, size_t bytes) {
  if (depth == 0) return;
  char* const own = static_cast<char*>(std::malloc(bytes));
  put(own, bytes, static_cast<uint64_t>(depth));
  int to_child[2], to_parent[2];
  require(::pipe(to_child) == 0 && ::pipe(to_parent) == 0, "pipe");
  char word = 0;
  const uint64_t before = static_cast<uint64_t>(depth) + 1;
  const pid_t child = forked([&] {
    require(has(block, bytes, before) && has(own, bytes, static_cast<uint64_t>(depth)), "the child's memory");
    require(::read(to_child[0], &word, 1) == 1, "read");
    require(has(block, bytes, before), "the parent's writes reach the child");
    put(block, bytes, static_cast<uint64_t>(depth));
    std::free(own);
    require(::write(to_parent[1], "x", 1) == 1, "write");
    generations(depth - 1, block, bytes);
  });
  put(block, bytes, 1000);
  require(::write(to_child[1], "x", 1) == 1 && ::read(to_parent[0], &word, 1) == 1, "pipes");
  require(has(block, bytes, 1000), "the child's writes reach the parent");
  require(has(own, bytes, static_cast<uint64_t>(depth)), "what the child frees is gone from its parent");
  expect_end(child);
  std::free(own);
  for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
  put(block, bytes, before);
}

void forks() {
  for (const size_t bytes : {size_t{300'000}, 5 * kLarge, 50 * kLarge}) {
    char* const block = static_cast<char*>(std::malloc(bytes));
    put(block, bytes, 6);
    generations(5, block, bytes);
    std::free(block);
  }
}

/// Threads allocate all the while.
void forks_amid_threads() {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      for (uint64_t round = 0; !is_over; ++round) moves(1000 * i + round, 60);
    });
  char* const block = static_cast<char*>(std::malloc(kLarge));
  for (int i = 0; i < 60; ++i) {
    put(block, kLarge, static_cast<uint64_t>(i));
    const pid_t child = forked([&] {
      require(has(block, kLarge, static_cast<uint64_t>(i)), "the child's memory");
      put(block, kLarge, 999);
      moves(static_cast<uint64_t>(i), 40);
    });
    put(block, kLarge, 888);
    expect_end(child);
    require(has(block, kLarge, 888), "the child's writes reach the parent");
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  std::free(block);
}

/// A thread writes to a block while another forks: no write is lost.
void writes_amid_forks() {
  constexpr size_t kWords = kLarge / sizeof(uint64_t);
  for (int i = 0; i < 100; ++i) {
    auto* const words = static_cast<uint64_t*>(std::calloc(kWords, sizeof(uint64_t)));
    std::atomic<uint64_t> rounds{0};
    std::atomic<bool> is_over{false};
    std::thread writer([&] {
      for (; !is_over; ++rounds)
        for (size_t word = 0; word < kWords; ++word)
          __atomic_store_n(words + word, words[word] + 1, __ATOMIC_RELAXED);
    });
    while (rounds < 2) std::this_thread::yield();
    expect_end(forked([] {}));
    while (rounds < 4) std::this_thread::yield();
    is_over = true;
    writer.join();
    for (size_t word = 0; word < kWords; ++word) require(words[word] == rounds, "a write is lost");
    std::free(words);
  }
}

/// Bytes in the heap's files.
size_t bytes_in_files() {
  size_t sum = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    char name[64] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    struct stat file {};
    if (::readlink(link.c_str(), name, sizeof name - 1) > 0 && std::strstr(name, "rondo-heap") != nullptr &&
        ::fstat(fd, &file) == 0)
      sum += static_cast<size_t>(file.st_blocks) * 512;
  }
  return sum;
}

void wait_and_allocate(int ms) {
  for (int i = 0; i < ms; i += 10) {
    volatile char* const block = static_cast<char*>(std::malloc(kLarge / 2));
    block[0] = 1;
    std::free(const_cast<char*>(block));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Once children are gone, what they saw goes too, and nothing else.
void memory_after_forks() {
  constexpr size_t kBytes = 64 * kLarge;
  char* const block = static_cast<char*>(std::malloc(kBytes));
  char* const half = static_cast<char*>(std::malloc(kBytes));
  char* const freed = static_cast<char*>(std::malloc(kBytes));
  char* const shorter = static_cast<char*>(std::malloc(kBytes));
  for (char* const one : {block, half, freed, shorter}) std::memset(one, 1, kBytes);
  int to_child[2];
  require(::pipe(to_child) == 0, "pipe");
  const pid_t child = forked([&] {
    char word = 0;
    ::close(to_child[1]);
    for (int fd = 3; fd < 1024; ++fd)
      if (fd != to_child[0]) ::close(fd);  // as daemons do
    require(::read(to_child[0], &word, 1) == 1, "read");
    for (const char* const one : {block, half, freed, shorter})
      for (size_t i = 0; i < kBytes; i += kPage) require(one[i] == 1, "the child's memory is gone");
  });
  std::memset(block, 2, kBytes);
  std::memset(half, 2, kBytes / 2);
  std::free(freed);
  require(std::realloc(shorter, kLarge) == shorter, "the block has moved");
  wait_and_allocate(500);
  require(bytes_in_files() > 250 * kLarge, "what the child sees is gone");
  require(::write(to_child[1], "x", 1) == 1, "write");
  expect_end(child);
  wait_and_allocate(1500);
  require(bytes_in_files() < 70 * kLarge, "what only the child saw is still there");
  for (size_t i = 0; i < kBytes; i += kPage)
    require(block[i] == 2 && half[i] == (i < kBytes / 2 ? 2 : 1), "the parent's memory is gone");
  for (char* const one : {half, block, shorter}) std::free(one);
  require(bytes_in_files() < 2 * kLarge, "freed blocks are still there");
}

/// Likewise if some child is there at any time: only those that saw a block before it was freed need it.
void memory_amid_children() {
  const auto started = [] {
    return forked([] {
      for (;;) ::pause();
    });
  };
  const auto ended = [](pid_t child) {
    require(::kill(child, SIGKILL) == 0 && ::waitpid(child, nullptr, 0) == child, "kill");
  };
  std::vector<char*> kept{static_cast<char*>(std::malloc(kLarge))};
  const pid_t first = started();
  pid_t last = started();
  for (int i = 0; i < 5; ++i) {
    char* const block = static_cast<char*>(std::malloc(32 * kLarge));
    std::memset(block, 1, 32 * kLarge);
    kept.push_back(static_cast<char*>(std::malloc(kLarge)));
    const pid_t next = started();
    std::free(block);
    ended(last);
    last = next;
    wait_and_allocate(100);
  }
  require(bytes_in_files() > 32 * kLarge, "what the last child sees is gone");
  require(bytes_in_files() < 70 * kLarge, "what earlier children saw is still there");
  ended(first);
  ended(last);
  for (char* const block : kept) std::free(block);
}

/// Bytes of the heap's files that a core dump would hold.
size_t dumped_bytes() {
  std::ifstream maps("/proc/self/smaps");
  size_t sum = 0, kib = 0;
  bool is_heaps = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("rondo-heap") != std::string::npos) is_heaps = true;
    if (std::sscanf(line.c_str(), "Size: %zu", &kib) == 1 || line.rfind("VmFlags:", 0) != 0) continue;
    if (is_heaps && line.find(" dd") == std::string::npos) sum += kib << 10;
    is_heaps = false;
  }
  return sum;
}

/// They hold blocks, and not all the rest of an arena.
void dumped() {
  char* const block = static_cast<char*>(std::malloc(50 * kLarge));
  require(dumped_bytes() > 50 * kLarge && dumped_bytes() < 60 * kLarge, "core dumps hold too much");
  expect_end(forked([] {}));
  require(dumped_bytes() > 50 * kLarge && dumped_bytes() < 60 * kLarge, "core dumps hold too much");
  std::free(block);
}

size_t locked_kib() {
  std::ifstream status("/proc/self/status");
  size_t kib = 0;
  for (std::string line; std::getline(status, line);) std::sscanf(line.c_str(), "VmLck: %zu", &kib);
  return kib;
}

/// A fork leaves what the program has set for pages.
void page_settings() {
  char* const block = static_cast<char*>(::aligned_alloc(kPage, kLarge));
  std::memset(block, 1, kLarge);
  require(::mlock(block + kLarge / 2, kPage) == 0 && ::mprotect(block, kPage, PROT_READ) == 0, "mprotect");
  for (int i = 0; i < 2; ++i) {
    const pid_t child = forked([&] { *const_cast<volatile char*>(block) = 2; });
    int status = 0;
    require(::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
            "the child may write where it must not");
    require(locked_kib() == kPage / 1024, "memory is not locked any more");
  }
  require(::mprotect(block, kPage, PROT_READ | PROT_WRITE) == 0, "mprotect");
  std::free(block);
}

/// Threads whose stacks are blocks can be waited for while another one forks.
void stacks() {
  ::alarm(30);
  void* const stack = ::aligned_alloc(kPage, kLarge);
  pthread_attr_t attributes;
  require(::pthread_attr_init(&attributes) == 0 && ::pthread_attr_setstack(&attributes, stack, kLarge) == 0,
          "pthread_attr_setstack");
  pthread_t sleeper{};
  const auto sleep = [](void* none) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return none;
  };
  require(::pthread_create(&sleeper, &attributes, sleep, nullptr) == 0, "pthread_create");
  std::thread forker([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    expect_end(forked([] {}));
  });
  require(::pthread_join(sleeper, nullptr) == 0, "pthread_join");
  forker.join();
  std::free(stack);
}

/// Other handlers of fork allocate and free, too.
char* of_handlers = nullptr;
void in_handler() {
  std::free(of_handlers);
  of_handlers = static_cast<char*>(std::malloc(kLarge));
  put(of_handlers, kLarge, 3);
}

void handlers() {
  require(::pthread_atfork(in_handler, in_handler, in_handler) == 0, "pthread_atfork");
  for (int i = 0; i < 20; ++i) {
    const pid_t child = forked([&] {
      require(has(of_handlers, kLarge, 3), "the child's memory");
      put(of_handlers, kLarge, 4);
    });
    expect_end(child);
    require(has(of_handlers, kLarge, 3), "the child's writes reach the parent");
  }
}

/// Daemons close all descriptors, and open others under their numbers.
void closes_all() {
  char* const block = static_cast<char*>(std::malloc(kLarge));
  put(block, kLarge, 5);
  for (int fd = 3; fd < 4096; ++fd) ::close(fd);
  char name[] = "/tmp/rondo-heap-XXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  require(file >= 0 && ::write(file, "precious", 8) == 8, "mkstemp");
  for (int fd = 3; fd < 1000; ++fd) ::dup2(file, fd);
  const pid_t child = forked([&] {
    require(has(block, kLarge, 5), "the child's memory");
    put(block, kLarge, 6);
    std::free(block);
  });
  expect_end(child);
  require(has(block, kLarge, 5), "the child's writes reach the parent");
  std::free(block);
  char* const other = static_cast<char*>(std::malloc(100 * kLarge));
  put(other, 100 * kLarge, 8);
  std::free(other);
  char text[9] = {};
  require(::pread(file, text, 8, 0) == 8 && std::strcmp(text, "precious") == 0,
          "a file of the program is gone");
}

}  // namespace rondo::test
