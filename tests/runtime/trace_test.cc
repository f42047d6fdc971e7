// SPDX-License-Identifier: Apache-2.0
// The trace that RONDO_TRACE names: which calls and messages are in a process's file.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "captured_log.h"
#include "catch.h"
#include "sanitized.h"
#include "scoped_environment.h"
#include "worlds.h"

namespace rondo::test {
namespace {

using Json = nlohmann::json;

/// The lines of a file, of which each must be whole.
std::vector<Json> lines_of(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::vector<Json> events;
  std::string line;
  std::getline(file, line);
  CHECK(line == "[");
  while (std::getline(file, line)) {
    INFO(line);
    REQUIRE(line.ends_with("},"));
    line.pop_back();
    events.push_back(Json::parse(line));
  }
  REQUIRE_FALSE(events.empty());
  return events;
}

/// The slices with this name; of a communicator with this name.
std::vector<Json> slices(const std::vector<Json>& events, const std::string& name,
                         const std::string& communicator = "world") {
  std::vector<Json> found;
  for (const Json& event : events)
    if (event.at("ph") == "X" && event.at("name") == name &&
        event.at("args").at("communicator") == communicator)
      found.push_back(event);
  return found;
}

void all_reduce(const Rank& rank, rondo_status_t expected = RONDO_OK) {
  float value = 1;
  const rondo_status_t status =
      rondo_all_reduce(&value, &value, 1, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr);
  require(status == expected, rondo_last_error(rank.comm));
}

Outcome outcome_of(const std::function<void()>& body) { return Process(body).wait(); }

std::string log_of(const std::function<void()>& body) {
  return captured_log([](const std::function<void()>& one) { return outcome_of(one).failure(); }, body);
}

size_t times_in(const std::string& text, const std::string& words) {
  size_t times = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++times;
  return times;
}

void call_alone(int calls) {
  rondo_comm_t comm = nullptr;
  check(rondo_init_all(&comm, 1, nullptr));
  for (int call = 0; call < calls; ++call) check(rondo_barrier(comm, nullptr), comm);
  check(rondo_destroy(comm));
}

}  // namespace

TEST_CASE("all calls are in the trace of each rank, in order and with their arguments") {
  const Folder folder;
  constexpr int kCalls = 1000;
  const int64_t before_s = ::time(nullptr);
  expect_success(
      run_world({.nranks = 3, .environment = {{"RONDO_TRACE", folder / "%r.json"}}}, [](Rank& rank) {
        for (int call = 0; call < kCalls; ++call) all_reduce(rank);
        int64_t value = 0;
        check(rondo_broadcast(&value, &value, 1, RONDO_INT64, 2, rank.comm, nullptr), rank.comm);
      }));
  std::set<std::string> ids;
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<Json> events = lines_of(folder / (std::to_string(rank) + ".json"));
    const Json& head = events[0].at("args");
    CHECK(head.at("format") == "rondo-trace");
    CHECK(head.at("version") == 1);
    CHECK(head.at("rank") == rank);
    CHECK(head.at("wall_ns") >= before_s * 1'000'000'000);
    const std::vector<Json> calls = slices(events, "all_reduce");
    REQUIRE(calls.size() == kCalls);
    double ended_us = 0;
    for (size_t at = 0; at < calls.size(); ++at) {
      INFO(calls[at]);
      CHECK(calls[at].at("args").at("number") == calls[0].at("args").at("number").get<size_t>() + at);
      CHECK(calls[at].at("ts") >= ended_us);
      ended_us = calls[at].at("ts").get<double>() + calls[at].at("dur").get<double>() - 0.001;
    }
    const Json& last = calls.back().at("args");
    ids.insert(last.at("id").get<std::string>());
    CHECK(last.at("count") == 1);
    CHECK(last.at("bytes") == 4);
    CHECK(last.at("type") == "float32");
    CHECK(last.at("op") == "sum");
    CHECK(last.at("rank") == rank);
    CHECK(last.at("algorithm") != "");
    CHECK(last.at("state") == "done");
    const std::vector<Json> broadcasts = slices(events, "broadcast");
    REQUIRE(broadcasts.size() == 1);
    CHECK(broadcasts[0].at("args").at("root") == 2);
  }
  CHECK(ids.size() == 1);
}

TEST_CASE("the two ends of a message have the same number, however they are made") {
  const Folder folder;
  constexpr int kEach = 50;
  expect_success(run_world({.nranks = 2, .environment = {{"RONDO_TRACE", folder / "%r"}}}, [](Rank& rank) {
    std::vector<float> data(300'000);
    for (int turn = 0; turn < kEach; ++turn) {
      const size_t count = turn % 3 == 0 ? data.size() : 1 + static_cast<size_t>(turn);
      if (rank.rank == 0) {
        check(rondo_send(data.data(), count, RONDO_FLOAT32, 1, turn, rank.comm, nullptr), rank.comm);
        rondo_request_t request = nullptr;
        check(rondo_isend(data.data(), 2, RONDO_FLOAT32, 1, 1000 + turn, rank.comm, &request), rank.comm);
        check(rondo_request_wait(request, 0));
        check(rondo_request_free(request));
      } else {
        // The later message first: the other waits unexpected.
        rondo_request_t request = nullptr;
        float two[2];
        check(rondo_irecv(two, 2, RONDO_FLOAT32, 0, 1000 + turn, rank.comm, nullptr, &request), rank.comm);
        check(rondo_recv(data.data(), count, RONDO_FLOAT32, RONDO_ANY_SOURCE, turn, rank.comm, nullptr,
                         nullptr),
              rank.comm);
        check(rondo_request_wait(request, 0));
        check(rondo_request_free(request));
      }
    }
  }));
  const auto by_number = [](const std::vector<Json>& found) {
    std::map<uint64_t, Json> tags;
    for (const Json& one : found)
      tags[one.at("args").at("message").get<uint64_t>()] = one.at("args").at("tag");
    return tags;
  };
  const auto sent = by_number(slices(lines_of(folder / "0"), "send"));
  const auto received = by_number(slices(lines_of(folder / "1"), "recv"));
  CHECK(sent.size() == 2 * kEach);
  CHECK(sent == received);
  std::map<int, double> ends;  // of the latest slice of each thread
  for (const Json& event : lines_of(folder / "1")) {
    if (event.at("ph") != "X" || event.at("cat") != "message") continue;
    double& end = ends[event.at("tid").get<int>()];
    CHECK(event.at("ts") >= end);
    end = event.at("ts").get<double>() + event.at("dur").get<double>() - 0.001;
  }
  CHECK(ends.size() > 1);
}

TEST_CASE("a call that fails is in the trace, with the rank that it waited for") {
  const Folder folder;
  expect_success(run_world({.nranks = 2, .environment = {{"RONDO_TRACE", folder / "%r"}}}, [](Rank& rank) {
    all_reduce(rank);
    check(rondo_set_timeout(rank.comm, 500), rank.comm);
    if (rank.rank == 0) return all_reduce(rank, RONDO_TIMEOUT);
    rondo_status_t status = RONDO_OK;
    while (status == RONDO_OK) check(rondo_async_error(rank.comm, &status));
  }));
  const std::vector<Json> calls = slices(lines_of(folder / "0"), "all_reduce");
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].at("args").at("state") == "done");
  CHECK(calls[1].at("args").at("state") == "failed");
  CHECK(calls[1].at("args").at("waited_for") == 1);
  CHECK(calls[1].at("args").at("waited_us") > 300'000);
}

TEST_CASE("a call that fails is in the trace of a process that ends at once") {
  const Folder folder;
  const Environment variable("RONDO_TRACE", folder / "%r");
  CHECK(outcome_of([] {
          rondo_config_t config = RONDO_CONFIG_INITIALIZER;
          config.timeout_ms = 100;
          rondo_comm_t comms[2] = {};
          check(rondo_init_all(comms, 2, &config));
          check_fails(rondo_barrier(comms[0], nullptr), RONDO_TIMEOUT, {});
        })
            .failure()
            .empty());
  const std::vector<Json> calls = slices(lines_of(folder / "0"), "barrier");
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].at("args").at("state") == "failed");
}

TEST_CASE("names are escaped, and a killed process leaves whole lines") {
  const Folder folder;
  const Outcome outcome = outcome_of([&] {
    ::setenv("RONDO_TRACE", (folder / "%r").c_str(), 1);
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.name = "a \"b\" \\\n\xff";
    rondo_comm_t comm = nullptr;
    check(rondo_init_all(&comm, 1, &config));
    for (int call = 0; call < 5000; ++call) check(rondo_barrier(comm, nullptr), comm);
    ::usleep(500'000);
    ::kill(::getpid(), SIGKILL);
  });
  CHECK_FALSE(outcome.failure().empty());
  CHECK(slices(lines_of(folder / "0"), "barrier", "a \"b\" \\\n\xef\xbf\xbd").size() == 5000);
}

TEST_CASE("at its limit the trace ends, and says so in the file and once in the log") {
  const Folder folder;
  const std::string log = log_of([&] {
    ::setenv("RONDO_TRACE", (folder / "%r").c_str(), 1);
    ::setenv("RONDO_TRACE_BYTES", "64K", 1);
    call_alone(1000);
    call_alone(1000);
  });
  CHECK(times_in(log, "has reached its 65536 bytes") == 1);
  CHECK(std::filesystem::file_size(folder / "0") <= 65'536);
  const std::vector<Json> events = lines_of(folder / "0");
  CHECK(slices(events, "barrier").size() > 50);
  CHECK(events.back().at("name") == "the trace ends at its limit");
  CHECK(events.back().at("args").at("limit_bytes") == 65'536);
}

TEST_CASE("a file that cannot be written is mentioned once, and stops nothing") {
  const std::string log = log_of([] {
    ::setenv("RONDO_TRACE", "/nowhere/%p", 1);
    call_alone(10);
    call_alone(10);
  });
  CHECK(times_in(log, "RONDO_TRACE: cannot write /nowhere/") == 1);
}

TEST_CASE("a file that can grow no more keeps whole lines") {
  const Folder folder;
  const std::string log = log_of([&] {
    ::setenv("RONDO_TRACE", (folder / "%r").c_str(), 1);
    const rlimit limit{20'000, 20'000};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    ::signal(SIGXFSZ, SIG_IGN);
    call_alone(1000);
    call_alone(1000);
  });
  CHECK(times_in(log, "RONDO_TRACE: cannot write ") == 1);
  lines_of(folder / "0");
}

TEST_CASE("a file of the program that gets the trace's descriptor is left alone") {
  if (kThreadSanitizer) return;  // for which such a program is a race
  const Folder folder;
  const std::string own = folder / "own";
  const std::string log = log_of([&] {
    ::setenv("RONDO_TRACE", (folder / "%r").c_str(), 1);
    rondo_comm_t comm = nullptr;
    check(rondo_init_all(&comm, 1, nullptr));
    check(rondo_barrier(comm, nullptr), comm);
    ::usleep(200'000);  // until the file is open
    int taken = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry.path(), gone) == folder / "0")
        taken = std::stoi(entry.path().filename());
    }
    require(taken != 0, "the file is not open");
    std::ofstream(own) << "mine";
    const int fd = ::open(own.c_str(), O_RDWR);
    require(fd >= 0 && ::dup2(fd, taken) == taken, "no descriptor");
    for (int call = 0; call < 100; ++call) check(rondo_barrier(comm, nullptr), comm);
    check(rondo_destroy(comm));
    require(::fcntl(taken, F_GETFD) >= 0, "it was closed");
  });
  CHECK(times_in(log, "the program has closed its descriptor") == 1);
  CHECK(std::filesystem::file_size(own) == 4);
}

TEST_CASE("a child of fork() never writes into its parent's file") {
  if (kThreadSanitizer) return;  // which forbids threads in such a child
  const Folder folder;
  CHECK(outcome_of([&] {
          ::setenv("RONDO_TRACE", (folder / "%r").c_str(), 1);
          call_alone(7);
          expect_success({outcome_of([] { call_alone(100); })});
        })
            .failure()
            .empty());
  CHECK(slices(lines_of(folder / "0"), "barrier").size() == 7);
}

TEST_CASE("a file into which another process writes its trace is left alone") {
  const Folder folder;
  const Environment variable("RONDO_TRACE", folder / "%r");
  const std::string go_on = folder / "go_on";
  Process first([&] {
    rondo_comm_t comm = nullptr;
    check(rondo_init_all(&comm, 1, nullptr));
    for (int call = 0; call < 7; ++call) check(rondo_barrier(comm, nullptr), comm);
    while (!std::filesystem::exists(go_on)) ::usleep(1000);
    for (int call = 0; call < 7; ++call) check(rondo_barrier(comm, nullptr), comm);
    check(rondo_destroy(comm));
  });
  while (!std::filesystem::exists(folder / "0") || std::filesystem::file_size(folder / "0") == 0)
    ::usleep(1000);
  const std::string log = log_of([] { call_alone(100); });
  CHECK(times_in(log, "another process writes its trace there") == 1);
  std::ofstream(go_on) << "now";
  CHECK(first.wait().failure().empty());
  CHECK(slices(lines_of(folder / "0"), "barrier").size() == 14);
}

TEST_CASE("a pipe that has no reader delays nothing") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "0").c_str(), 0600) == 0);
  const Environment variable("RONDO_TRACE", folder / "%r");
  const auto began = std::chrono::steady_clock::now();
  CHECK(times_in(log_of([] { call_alone(10); }), "RONDO_TRACE: cannot write ") == 1);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
}

TEST_CASE("a child that is forked while another thread starts Rondo does not hang") {
  if (kThreadSanitizer) return;  // which forbids threads in such a child
  const Folder folder;
  const Environment variable("RONDO_TRACE", folder / "%p");
  for (int spins = 1; spins < 1'000'000; spins += spins / 3 + 1) {
    const auto fork_meanwhile = [&] {
      std::atomic<bool> begins{false};
      std::thread starter([&] {
        begins = true;
        call_alone(1);
      });
      while (!begins) continue;
      for (std::atomic<int> spin{0}; spin < spins;) ++spin;
      Process child([] {
        rondo_comm_t comm = nullptr;
        const rondo_status_t status = rondo_init_all(&comm, 1, nullptr);
        require(status == RONDO_OK || status == RONDO_INVALID_USAGE, rondo_last_error(nullptr));
        check(rondo_destroy(comm));
      });
      const std::string failure = child.wait(10).failure();
      starter.join();
      require(failure.empty(), failure);
    };
    REQUIRE(outcome_of(fork_meanwhile).failure() == "");
  }
}

TEST_CASE("names and limits that cannot be used are refused") {
  rondo_comm_t comm = nullptr;
  for (const char* name : {"trace.json", "%h", "%p.%d"}) {
    const Environment variable("RONDO_TRACE", name);
    check_fails(rondo_init_all(&comm, 1, nullptr), RONDO_INVALID_ARGUMENT,
                {"RONDO_TRACE is '" + std::string(name) + "'"});
  }
  const Environment limit("RONDO_TRACE_BYTES", "1K");
  check_fails(rondo_init_all(&comm, 1, nullptr), RONDO_INVALID_ARGUMENT, {"RONDO_TRACE_BYTES is '1K'"});
}

}  // namespace rondo::test
