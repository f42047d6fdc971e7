// SPDX-License-Identifier: Apache-2.0
// The threads that the library starts have names, by which users of debuggers and top tell them from their
// own.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "catch.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr const char* kExpected[] = {"rondo-service", "rondo-queue", "rondo-requests"};

/// The names of all threads but this one.
std::multiset<std::string> other_threads() {
  std::multiset<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (!name.empty()) names.insert(name);  // empty: it has ended
  }
  return names;
}

/// A thread names itself, soon after it was started.
std::multiset<std::string> other_threads_once_named() {
  std::multiset<std::string> names = other_threads();
  const auto is_there = [&](const char* name) { return names.contains(name); };
  for (int looks = 0; looks < 1000 && !std::ranges::all_of(kExpected, is_there); ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    names = other_threads();
  }
  return names;
}

}  // namespace

TEST_CASE("each thread that the library starts has a name of its own kind") {
  expect_success(run_world({.nranks = 2}, [](Rank& rank) {
    const OwnedQueue queue;
    float value = 0;
    rondo_request_t request = nullptr;
    check(rondo_irecv(&value, 1, RONDO_FLOAT32, 1 - rank.rank, 0, rank.comm, nullptr, &request), rank.comm);
    const std::multiset<std::string> names = other_threads_once_named();
    for (const char* name : kExpected)
      require(names.count(name) == 1, std::string("no thread, or several, named ") + name);
    for (const std::string& name : names)  // a sanitizer may have a thread of its own
      require(kSanitized || name.starts_with("rondo-"), "a thread named " + name);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    check(rondo_send(&value, 1, RONDO_FLOAT32, 1 - rank.rank, 0, rank.comm, nullptr), rank.comm);
    check(rondo_request_wait(request, 0), rank.comm);
    check(rondo_request_free(request));
  }));
}

}  // namespace rondo::test
