// SPDX-License-Identifier: Apache-2.0
// From the first call to the last: ways to start, what is left behind, memory, queries.
#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "catch.h"
#include "exchange.h"
#include "ports.h"
#include "worlds.h"

namespace rondo::test {
namespace {

size_t entries_of(const char* folder) {
  DIR* directory = ::opendir(folder);
  size_t entries = 0;
  while (::readdir(directory) != nullptr) ++entries;
  ::closedir(directory);
  return entries;
}

/// Resources of a process that a communicator might leak.
struct Belongings {
  size_t threads = 0;
  size_t descriptors = 0;
  size_t shared_mappings = 0;
  bool operator==(const Belongings&) const = default;
};

Belongings belongings() {
  Belongings now{entries_of("/proc/self/task"), entries_of("/proc/self/fd"), 0};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:") != std::string::npos) ++now.shared_mappings;
  return now;
}

void expect_nothing_left(const Belongings& before) {
  Belongings after = belongings();
  // The kernel may list a thread for a moment after it was joined.
  for (int i = 0; i < 100 && !(after == before); ++i) {
    ::usleep(10'000);
    after = belongings();
  }
  CHECK(after.threads == before.threads);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.shared_mappings == before.shared_mappings);
}

void one_life(const char* transport) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.transport = transport;
  config.timeout_ms = 20'000;
  std::array<rondo_comm_t, 2> comms{};
  check(rondo_init_all(comms.data(), 2, &config));
  std::array<int, 2> values{1, 2};
  check(rondo_group_start());
  for (size_t i = 0; i < 2; ++i)
    check(rondo_all_reduce(&values[i], &values[i], 1, RONDO_INT32, RONDO_SUM, comms[i], nullptr));
  check(rondo_group_end());
  require(values == std::array<int, 2>{3, 3}, "wrong sum");
  for (const rondo_comm_t comm : comms) check(rondo_destroy(comm));
}

/// Outcomes of starting two ranks, the second of them late.
std::array<rondo_status_t, 2> start_late(int64_t init_timeout_ms, int late_ms) {
  rondo_unique_id_t id;
  check(rondo_get_unique_id(&id));
  std::array<rondo_status_t, 2> outcomes{};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
      rondo_config_t config = RONDO_CONFIG_INITIALIZER;
      config.init_timeout_ms = init_timeout_ms;
      Owned comm;
      outcomes[static_cast<size_t>(rank)] = rondo_init_rank(comm.out(), 2, &id, rank, &config);
    });
  for (std::thread& rank : ranks) rank.join();
  return outcomes;
}

TEST_CASE("the config's start deadline overrides the environment's") {
  {
    const Environment environment("RONDO_INIT_TIMEOUT", "0.3");
    CHECK(start_late(20'000, 900) == std::array{RONDO_OK, RONDO_OK});
  }
  CHECK(start_late(200, 900)[0] == RONDO_TIMEOUT);
}

TEST_CASE("two hundred communicator lifetimes in one process leave no thread, descriptor or mapping behind") {
  for (const char* transport : {"local", "tcp", "sim"}) {
    INFO(transport);
    one_life(transport);
    const Belongings before = belongings();
    for (int life = 0; life < 70; ++life) one_life(transport);
    expect_nothing_left(before);
  }
}

TEST_CASE("splits, duplicates, queues and memory leave nothing behind either") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 2, .transport = transport}, [](Rank& rank) {
      Belongings before;
      for (int life = 0; life < 30; ++life) {
        {
          Owned child;
          check(rondo_duplicate(rank.comm, child.out()), rank.comm);
          const OwnedQueue queue;
          int value = 1;
          check(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, child.get(), queue.get()),
                child.get());
          void* memory = nullptr;
          check(rondo_mem_alloc(&memory, 100'000));
          check(rondo_mem_free(memory));
        }
        check(rondo_barrier(rank.comm, nullptr), rank.comm);
        if (life == 2) before = belongings();
      }
      Belongings after = belongings();
      for (int i = 0; i < 100 && !(after == before); ++i) {
        ::usleep(10'000);
        after = belongings();
      }
      require(after == before, "threads, descriptors or mappings are left: " + std::to_string(after.threads) +
                                   ", " + std::to_string(after.descriptors) + ", " +
                                   std::to_string(after.shared_mappings));
    }));
  }
}

TEST_CASE("ranks start by an id that one of them created") {
  for (const int nranks : {1, 2, 7}) {
    INFO(nranks << " ranks");
    expect_success(run_world({.nranks = nranks, .threads = true}, [=](Rank& rank) {
      int value = -1;
      check(rondo_rank(rank.comm, &value));
      require(value == rank.rank, "wrong rank");
      check(rondo_size(rank.comm, &value));
      require(value == nranks, "wrong size");
      run_trial(rank, {.count = 10});
    }));
  }
}

TEST_CASE("ranks start by a file, as run_world does") {
  expect_success(run_world({.nranks = 3}, [](Rank& rank) { run_trial(rank, {.count = 10}); }));
}

/// Joins by a method, in a world of threads without a communicator.
std::string join_by(const std::string& method, int size, int expected_rank) {
  rondo_comm_t comm = nullptr;
  if (rondo_init(&comm, method.c_str(), nullptr) != RONDO_OK) return rondo_last_error(nullptr);
  std::string failure;
  try {
    run_trial({comm, expected_rank, size}, {.kind = Kind::AllGather, .count = 10});
  } catch (const std::exception& thrown) {
    failure = thrown.what();
  }
  if (rondo_destroy(comm) != RONDO_OK && failure.empty()) failure = rondo_last_error(nullptr);
  return failure;
}

TEST_CASE("ranks start by an address") {
  const std::string at = "tcp://127.0.0.1:" + std::to_string(free_port());
  std::array<std::string, 3> failures;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      failures[static_cast<size_t>(rank)] =
          join_by(at + "?rank=" + std::to_string(rank) + "&size=3", 3, rank);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) CHECK(failure == "");
}

TEST_CASE("ranks start by their environment") {
  const std::string port = std::to_string(free_port());
  expect_success(run_world({.nranks = 3, .threads = false}, [&](Rank& rank) {
    ::setenv("RANK", std::to_string(rank.rank).c_str(), 1);
    ::setenv("WORLD_SIZE", "3", 1);
    ::setenv("MASTER_ADDR", "127.0.0.1", 1);
    ::setenv("MASTER_PORT", port.c_str(), 1);
    const std::string failure = join_by("env://", 3, rank.rank);
    require(failure.empty(), failure);
  }));
}

TEST_CASE("a process started alone is a communicator of one") {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
  rondo_comm_t comm = nullptr;
  check(rondo_init(&comm, nullptr, nullptr));
  for (uint64_t seed = 0; seed < 100; ++seed) run_trial({comm, 0, 1}, random_trial(seed, 1, 300));
  check(rondo_finalize(comm));
  check(rondo_destroy(comm));
}

TEST_CASE("the ranks of several communicators in one process do not mix") {
  std::array<rondo_comm_t, 3> first{};
  std::array<rondo_comm_t, 2> second{};
  check(rondo_init_all(first.data(), 3, nullptr));
  check(rondo_init_all(second.data(), 2, nullptr));
  std::vector<std::unique_ptr<Exchange>> exchanges;
  const auto start = [&](rondo_comm_t comm, int rank, int size) {
    exchanges.push_back(std::make_unique<Exchange>(Rank{comm, rank, size}, Trial{.count = 100}));
    check(exchanges.back()->start());
  };
  check(rondo_group_start());
  for (int rank = 0; rank < 3; ++rank) start(first[static_cast<size_t>(rank)], rank, 3);
  for (int rank = 0; rank < 2; ++rank) start(second[static_cast<size_t>(rank)], rank, 2);
  check(rondo_group_end());
  for (auto& exchange : exchanges) exchange->verify();
  for (const rondo_comm_t comm : first) check(rondo_destroy(comm));
  for (const rondo_comm_t comm : second) check(rondo_destroy(comm));
}

TEST_CASE("the library's version is the header's") {
  int version = 0;
  check(rondo_version(&version));
  CHECK(version == RONDO_VERSION);
  CHECK(std::string(rondo_status_string(RONDO_OK)) == "RONDO_OK");
  CHECK(std::string(rondo_status_string(RONDO_OUT_OF_MEMORY)) == "RONDO_OUT_OF_MEMORY");
}

TEST_CASE("the last error is kept by thread and by communicator") {
  rondo_comm_t comm = nullptr;
  check(rondo_init_all(&comm, 1, nullptr));
  CHECK(std::string(rondo_last_error(comm)).empty());
  CHECK(rondo_barrier(comm, nullptr) == RONDO_OK);
  CHECK(rondo_broadcast(nullptr, nullptr, 0, RONDO_INT8, 9, comm, nullptr) == RONDO_INVALID_ARGUMENT);
  CHECK(std::string(rondo_last_error(comm)) == "rank 0: " + std::string(rondo_last_error(nullptr)));
  CHECK(std::string(rondo_last_error(comm)).find("rondo_broadcast: ") != std::string::npos);
  CHECK(std::string(rondo_last_error(comm)).ends_with(" [R0602]"));
  std::string elsewhere = "not asked";
  std::thread([&] { elsewhere = rondo_last_error(nullptr); }).join();
  CHECK(elsewhere.empty());
  check(rondo_destroy(comm));
}

TEST_CASE("memory from rondo_mem_alloc() is aligned to pages, writable, and good for calls") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    void* memory = &rank;
    check(rondo_mem_alloc(&memory, 0));
    require(memory == nullptr, "0 bytes are NULL");
    check(rondo_mem_alloc(&memory, 1'000'000));
    require(reinterpret_cast<uintptr_t>(memory) % 4096 == 0, "not aligned to a page");
    void* handle = nullptr;
    check(rondo_register(rank.comm, memory, 1'000'000, &handle), rank.comm);
    auto* values = static_cast<int*>(memory);
    for (int i = 0; i < 250'000; ++i) values[i] = i + rank.rank;
    check(rondo_all_reduce(values, values, 250'000, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
    for (int i = 0; i < 250'000; ++i) require(values[i] == 2 * i + 1, "wrong sum");
    check(rondo_deregister(rank.comm, handle), rank.comm);
    check_fails(rondo_deregister(rank.comm, handle), RONDO_INVALID_ARGUMENT, {"not registered"}, rank.comm);
    check(rondo_mem_free(memory));
    check_fails(rondo_mem_free(memory), RONDO_INVALID_ARGUMENT, {"rondo_mem_alloc()"});
  }));
}

TEST_CASE("a communicator reports the transport of a pair and the algorithm of its latest call") {
  expect_success(run_world({.nranks = 2, .transport = "shm", .algorithm = "all_reduce=ring"}, [](Rank& rank) {
    const char* name = nullptr;
    require(last_algorithm(rank).empty(), "there was no call yet");
    check(rondo_transport(rank.comm, rank.rank, &name), rank.comm);
    require(std::string(name) == "self", name);
    check(rondo_transport(rank.comm, 1 - rank.rank, &name), rank.comm);
    require(std::string(name) == "shm", name);
    int value = 1;
    check(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr), rank.comm);
    check(rondo_finalize(rank.comm), rank.comm);
    require(last_algorithm(rank) == "ring", last_algorithm(rank));
  }));
}

TEST_CASE("a forked child is told that it cannot use its parent's communicators") {
  std::array<rondo_comm_t, 2> comms{};
  check(rondo_init_all(comms.data(), 2, nullptr));
  Process child([] {
    std::array<rondo_comm_t, 2> more{};
    check_fails(rondo_init_all(more.data(), 2, nullptr), RONDO_INVALID_USAGE, {"fork"});
  });
  CHECK(child.wait().failure() == "");
  for (const rondo_comm_t comm : comms) check(rondo_destroy(comm));
}

bool is_forked_child = false;

/// Files that reuse the numbers of the descriptors that the fork closed.
class Files {
 public:
  Files() {
    for (int i = 0; i < 64; ++i) files_.push_back(::memfd_create("file", 0));
  }
  bool are_empty() const {
    return std::all_of(files_.begin(), files_.end(),
                       [](int file) { return file >= 0 && ::lseek(file, 0, SEEK_END) == 0; });
  }

 private:
  std::vector<int> files_;
};

TEST_CASE("a process that a forked child forks keeps its files") {
  std::array<rondo_comm_t, 2> comms{};
  check(rondo_init_all(comms.data(), 2, nullptr));
  Process child([] {
    const Files files;
    Process grandchild([&] { require(files.are_empty(), "a file of the forked child has been closed"); });
    require(grandchild.wait().failure().empty(), "the files were lost");
  });
  CHECK(child.wait().failure() == "");
  for (const rondo_comm_t comm : comms) check(rondo_destroy(comm));
}

rondo_comm_t destroyed_at_exit = nullptr;

/// Makes every kind of call on the parent's objects.
bool all_are_refused(rondo_comm_t comm, rondo_stream_t queue) {
  int value = 1;
  rondo_unique_id_t id;
  const std::array refused{rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, comm, nullptr),
                           rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, comm, queue),
                           rondo_send(&value, 1, RONDO_INT32, 1, 0, comm, nullptr),
                           rondo_recv(&value, 1, RONDO_INT32, RONDO_ANY_SOURCE, 0, comm, nullptr, nullptr),
                           rondo_group_start(),
                           rondo_group_end(),
                           rondo_get_unique_id(&id),
                           rondo_shrink(comm, nullptr, 0, &comm, nullptr),
                           rondo_abort(comm),
                           rondo_quiesce(comm),
                           rondo_finalize(comm),
                           rondo_leave(comm),
                           rondo_destroy(comm),
                           rondo_queue_synchronize(queue),
                           rondo_queue_destroy(queue)};
  return std::all_of(refused.begin(), refused.end(),
                     [](rondo_status_t status) { return status == RONDO_INVALID_USAGE; }) &&
         std::strstr(rondo_last_error(comm), "forked") != nullptr;
}

TEST_CASE(
    "every call in a forked child is refused, and the child's exit disturbs neither it nor its parent") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      OwnedQueue queue;
      int value = 1;
      const auto call = [&](rondo_stream_t stream) {
        check(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, rank.comm, stream), rank.comm);
      };
      call(nullptr);
      call(queue.get());
      check(rondo_queue_synchronize(queue.get()));
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      if (rank.rank == 0) {
        Process child([&] {
          is_forked_child = true;
          const Files files;
          destroyed_at_exit = rank.comm;
          std::atexit([] { rondo_destroy(destroyed_at_exit); });
          std::exit(all_are_refused(rank.comm, queue.get()) && files.are_empty() ? 0 : 1);
        });
        require(child.wait(10).ok, "a call was made in the child, or its exit took long");
      }
      call(nullptr);
      require(value == 8, "the child has taken part");
    }));
  }
}

TEST_CASE("a process that has closed all its descriptors gets an error and does not wait") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    const auto outcomes = run_world({.nranks = 2, .transport = transport, .timeout_s = 20}, [](Rank& rank) {
      if (rank.rank == 0) {  // a call that the other has completed may already be told that it left
        while (rondo_barrier(rank.comm, nullptr) == RONDO_OK) continue;
        return;
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      ::close_range(3, ~0U, 0);
      while (rondo_barrier(rank.comm, nullptr) == RONDO_OK) continue;
      const rondo_status_t destroyed = rondo_destroy(rank.comm);
      const std::string error = rondo_last_error(nullptr);
      std::_Exit(destroyed == RONDO_INVALID_USAGE && error.find("has closed descriptors") != std::string::npos
                     ? 0
                     : 1);
    });
    for (const Outcome& outcome : outcomes) CHECK(outcome.failure() == "");
  }
}

}  // namespace

/// Called by LeakSanitizer. A forked child lacks the parent's threads, so what those hold would be reported
/// as leaks.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return is_forked_child; }

}  // namespace rondo::test
