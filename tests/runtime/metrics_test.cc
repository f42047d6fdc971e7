// SPDX-License-Identifier: Apache-2.0
// The file that RONDO_METRICS names: what it counts, when it is written, and what is said if it cannot be.
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "captured_log.h"
#include "catch.h"
#include "health/flight_recorders.h"
#include "metrics_text.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A line of the file of a rank.
std::string line(const std::string& name, int rank, const std::string& labels, const std::string& value) {
  char host[256] = {};
  require(::gethostname(host, sizeof host - 1) == 0, "no host name");
  return "\n" + name + "{host=\"" + host + "\",rank=\"" + std::to_string(rank) + "\"" + labels + "} " +
         value + "\n";
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& one : lines) {
    INFO(one << text);
    CHECK(text.find(one) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("calls and bytes of all communicators are there when the last one has ended") {
  const Folder folder;
  expect_success(
      run_world({.nranks = 2, .environment = {{"RONDO_METRICS", folder / "%r.prom"}}}, [](Rank& rank) {
        std::vector<double> values(100);
        for (int time = 0; time < 2; ++time) {
          const Child child(rank);
          for (int call = 0; call < 3; ++call)
            check(rondo_all_reduce(values.data(), values.data(), values.size(), RONDO_FLOAT64, RONDO_SUM,
                                   child.comm.get(), nullptr));
        }
        check(rondo_broadcast(values.data(), values.data(), 5, RONDO_FLOAT64, 0, rank.comm, nullptr),
              rank.comm);
      }));
  for (int rank = 0; rank < 2; ++rank) {
    const std::string text = contents(folder / (std::to_string(rank) + ".prom"));
    expect_lines(text, {"# TYPE rondo_calls_total counter\n",
                        line("rondo_calls_total", rank, ",collective=\"all_reduce\"", "6"),
                        line("rondo_bytes_total", rank, ",collective=\"all_reduce\"", "4800"),
                        line("rondo_calls_total", rank, ",collective=\"broadcast\"", "1"),
                        line("rondo_bytes_total", rank, ",collective=\"broadcast\"", "40"),
                        line("rondo_calls_total", rank, ",collective=\"scan\"", "0"),
                        line("rondo_communicators", rank, "", "0"),
                        line("rondo_longest_call_seconds", rank, "", "0.000")});
    CHECK(text.find("rondo_failures_total{") == std::string::npos);
  }
}

TEST_CASE("the file is also written while a call waits, and after a failure") {
  const Folder folder;
  const std::string path = folder / "0";
  expect_success(run_world(
      {.nranks = 2, .call_timeout_ms = 9000, .environment = {{"RONDO_METRICS", folder / "%r"}}},
      [&](Rank& rank) {
        if (rank.rank == 0) {
          require(rondo_barrier(rank.comm, nullptr) == RONDO_ABORTED, rondo_last_error(rank.comm));
          return;
        }
        const std::string begun = line("rondo_calls_total", 0, ",collective=\"barrier\"", "1");
        while (contents(path).find(begun) == std::string::npos)
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const std::string text = contents(path);
        require(text.find("rondo_longest_call_seconds") != std::string::npos, text);
        require(text.find(line("rondo_longest_call_seconds", 0, "", "0.000")) == std::string::npos, text);
        check(rondo_abort(rank.comm));
      }));
  expect_lines(contents(path),
               {line("rondo_failures_total", 0, ",collective=\"barrier\",status=\"RONDO_ABORTED\"", "1")});
  expect_lines(contents(folder / "1"),
               {line("rondo_failures_total", 1, ",collective=\"none\",status=\"RONDO_ABORTED\"", "1")});
}

TEST_CASE("a metrics file that cannot be written is mentioned once, and calls go on") {
  const auto in_process = [](const std::function<void()>& body) { return Process(body).wait().failure(); };
  const std::string log = captured_log(in_process, [] {
    ::setenv("RONDO_METRICS", "/nowhere/%p", 1);
    for (int time = 0; time < 2; ++time) {
      rondo_comm_t comm = nullptr;
      check(rondo_init_all(&comm, 1, nullptr));
      check(rondo_barrier(comm, nullptr), comm);
      check(rondo_destroy(comm));
    }
  });
  const std::string expected = "RONDO_METRICS: cannot write /nowhere/";
  const size_t at = log.find(expected);
  REQUIRE(at != std::string::npos);
  CHECK(log.find(expected, at + 1) == std::string::npos);
}

TEST_CASE("a process that was forked after the last communicator writes a file of its own") {
  if (kThreadSanitizer) return;  // which forbids threads in such a child
  const Folder folder;
  const auto make_comms = [] {
    for (int time = 0; time < 4; ++time) {
      rondo_comm_t comm = nullptr;
      check(rondo_init_all(&comm, 1, nullptr));
      check(rondo_barrier(comm, nullptr), comm);
      check(rondo_destroy(comm));
    }
  };
  const Outcome outcome =
      Process([&] {
        ::setenv("RONDO_METRICS", (folder / "%p").c_str(), 1);
        make_comms();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until its thread waits again
        const std::string failure =
            Process([&] {
              make_comms();
              const std::string text = contents(folder / std::to_string(::getpid()));
              require(text.find(line("rondo_calls_total", 0, ",collective=\"barrier\"", "4")) !=
                          std::string::npos,
                      text);
            })
                .wait(20)
                .failure();
        require(failure.empty(), failure);
      }).wait();
  CHECK(outcome.failure() == "");
}

TEST_CASE("one name for all processes is refused") {
  const Environment variable("RONDO_METRICS", "/tmp/%h.prom");
  rondo_comm_t comm = nullptr;
  check_fails(rondo_init_all(&comm, 1, nullptr), RONDO_INVALID_ARGUMENT,
              {"RONDO_METRICS is '/tmp/%h.prom'", "%p", "%r", "overwrite"});
}

TEST_CASE("labels are escaped") { CHECK(label_text("a\"b\\c\nd") == "\"a\\\"b\\\\c\\nd\""); }

}  // namespace rondo::test
