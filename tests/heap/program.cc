// SPDX-License-Identifier: Apache-2.0
// A program without Rondo, which librondo-heap.so is loaded into: program CASE. Every case allocates small
// and large blocks in its own way and ends with 1 and a sentence if their memory is not what malloc()
// promises.
#include <signal.h>

#include <cstring>
#include <string>
#include <vector>

#include "program.h"

namespace rondo::test {
namespace {

/// A static constructor that needs much memory, and keeps it for main().
struct Early {
  Early() : block(static_cast<char*>(std::malloc(kLarge))) { std::memset(block, 42, kLarge); }
  ~Early() { std::free(block); }
  Early(const Early&) = delete;
  Early& operator=(const Early&) = delete;
  char* block;
};
const Early early;

/// In each process: a block of before, and then the program again, with one argument less.
void execs(int argc, char** argv) {
  char* const block = static_cast<char*>(std::malloc(kLarge));
  put(block, kLarge, 1);
  if (argc < 3) return;
  expect_end(forked([&] {
    std::vector<char*> arguments(argv, argv + argc - 1);
    arguments.push_back(nullptr);
    ::execv("/proc/self/exe", arguments.data());
  }));
  require(has(block, kLarge, 1), "the block has changed");
  std::free(block);
}

/// Prints descriptors that the next open() would give, which stay as they are without the heap.
void descriptors() {
  std::free(std::malloc(kLarge));
  char* const block = static_cast<char*>(std::malloc(kLarge));
  std::printf("%d\n", ::dup(0));
  std::free(block);
}

void double_free() {
  char* const block = static_cast<char*>(std::malloc(kLarge));
  char* volatile again = block;
  std::free(block);
  std::free(again);
}

void free_inside() {
  char* volatile block = static_cast<char*>(std::malloc(kLarge));
  block = block + 65536;
  std::free(block);
}

/// As a handler does that has a debugger print where the program is.
void abort_handler() {
  const auto forks = [](int) {
    char* const block = static_cast<char*>(std::malloc(kLarge));
    put(block, kLarge, 1);
    expect_end(forked([&] { require(has(block, kLarge, 1), "the child's memory"); }));
    std::_Exit(0);
  };
  ::signal(SIGABRT, forks);
  ::alarm(10);
  double_free();
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {{"stress", stress},
                           {"handed_over", handed_over},
                           {"resizing", resizing},
                           {"moving", moving},
                           {"aligned", aligned},
                           {"refused", refused},
                           {"returned", returned},
                           {"untouched", untouched},
                           {"discarded", discarded},
                           {"forks", forks},
                           {"forks_amid_threads", forks_amid_threads},
                           {"writes_amid_forks", writes_amid_forks},
                           {"memory_after_forks", memory_after_forks},
                           {"memory_amid_children", memory_amid_children},
                           {"dumped", dumped},
                           {"page_settings", page_settings},
                           {"stacks", stacks},
                           {"handlers", handlers},
                           {"closes_all", closes_all},
                           {"descriptors", descriptors},
                           {"abort_handler", abort_handler},
                           {"double_free", double_free},
                           {"free_inside", free_inside}};

int run(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  for (size_t i = 0; i < kLarge; ++i) require(early.block[i] == 42, "an early block has lost its contents");
  if (name == "execs") {
    execs(argc, argv);
    return 0;
  }
  for (const Case& one : kCases)
    if (name == one.name) {
      one.run();
      return 0;
    }
  std::fprintf(stderr, "program: there is no case '%s'\n", name.c_str());
  return 2;
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) { return rondo::test::run(argc, argv); }
