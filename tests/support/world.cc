// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "catch.h"
#include "sanitized.h"

namespace rondo::test {
namespace {

using Clock = std::chrono::steady_clock;

rondo_config_t config_of(const WorldOptions& options, int rank) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = options.call_timeout_ms;
  if (!options.transport.empty()) config.transport = options.transport.c_str();
  if (!options.algorithm.empty()) config.algorithm = options.algorithm.c_str();
  if (!options.devices.empty())
    config.device = options.devices[static_cast<size_t>(rank) % options.devices.size()].c_str();
  return config;
}

/// Joins, runs, destroys; returns the error text, empty if there was none.
std::string live(const WorldOptions& options, const Body& body, Rank& rank,
                 const std::function<rondo_status_t(const rondo_config_t&)>& join) {
  std::string failure;
  try {
    check(join(config_of(options, rank.rank)));
    body(rank);
  } catch (const std::exception& thrown) {
    failure = thrown.what();
    if (failure.empty()) failure = "failed";
  }
  const rondo_status_t ended = rondo_destroy(rank.comm);
  if (ended != RONDO_OK && failure.empty()) failure = std::string("destroy: ") + rondo_last_error(nullptr);
  return failure;
}

struct Child {
  pid_t pid = -1;
  int pipe = -1;
};

/// Runs one rank of a process from start to end; returns its error text.
std::string live_in_process(const WorldOptions& options, const Body& body, int rank,
                            const std::string& id_path) {
  Rank self{nullptr, rank, options.nranks};
  const std::string method =
      "file://" + id_path + "?rank=" + std::to_string(rank) + "&size=" + std::to_string(options.nranks);
  return live(options, body, self,
              [&](const rondo_config_t& config) { return rondo_init(&self.comm, method.c_str(), &config); });
}

/// Runs all ranks of a process, each in its own thread if there are several.
std::string live_together(const WorldOptions& options, const Body& body, int first,
                          const std::string& id_path) {
  if (options.ranks_each == 1) return live_in_process(options, body, first, id_path);
  const int end = std::min(first + options.ranks_each, options.nranks);
  std::vector<std::string> failures(static_cast<size_t>(end - first));
  std::vector<std::thread> threads;
  for (int rank = first; rank < end; ++rank)
    threads.emplace_back([&, rank] {
      failures[static_cast<size_t>(rank - first)] = live_in_process(options, body, rank, id_path);
    });
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (size_t i = 0; i < failures.size(); ++i)
    if (!failures[i].empty())
      all += "rank " + std::to_string(static_cast<size_t>(first) + i) + ": " + failures[i] + "; ";
  return all;
}

Child fork_ranks(const WorldOptions& options, const Body& body, int first, const std::string& id_path) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid != 0) {
    ::close(ends[1]);
    return {pid, ends[0]};
  }
  ::close(ends[0]);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  const std::string failure = live_together(options, body, first, id_path);
  [[maybe_unused]] const auto written = ::write(ends[1], failure.data(), failure.size());
  ::close(ends[1]);
  std::_Exit(failure.empty() ? 0 : 1);
}

/// Collects the child's text and exit status; kills it at the deadline.
Outcome collect(const Child& child, Clock::time_point deadline) {
  Outcome outcome;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd poll{child.pipe, POLLIN, 0};
    if (::poll(&poll, 1, static_cast<int>(std::max<long>(left, 0))) <= 0) {
      outcome.hung = true;
      ::kill(child.pid, SIGKILL);
      break;
    }
    std::array<char, 4096> text{};
    const ssize_t got = ::read(child.pipe, text.data(), text.size());
    if (got <= 0) break;
    outcome.error.append(text.data(), static_cast<size_t>(got));
  }
  ::close(child.pipe);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !outcome.hung;
  return outcome;
}

std::vector<Outcome> run_processes(const WorldOptions& options, const Body& body) {
  std::string directory = "/tmp/rondo-test-XXXXXX";
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  const std::string id_path = directory + "/id";
  std::vector<Child> children;
  for (int rank = 0; rank < options.nranks; rank += options.ranks_each)
    children.push_back(fork_ranks(options, body, rank, id_path));
  const auto deadline = Clock::now() + std::chrono::seconds(options.timeout_s * (kSanitized ? 3 : 1));
  std::vector<Outcome> outcomes;
  for (const Child& child : children) outcomes.push_back(collect(child, deadline));
  ::unlink(id_path.c_str());
  ::rmdir(directory.c_str());
  return outcomes;
}

std::vector<Outcome> run_threads(const WorldOptions& options, const Body& body) {
  rondo_unique_id_t id;
  REQUIRE(rondo_get_unique_id(&id) == RONDO_OK);
  std::vector<Outcome> outcomes(static_cast<size_t>(options.nranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.nranks; ++rank) {
    threads.emplace_back([&, rank] {
      Rank self{nullptr, rank, options.nranks};
      Outcome& outcome = outcomes[static_cast<size_t>(rank)];
      outcome.error = live(options, body, self, [&](const rondo_config_t& config) {
        return rondo_init_rank(&self.comm, options.nranks, &id, rank, &config);
      });
      outcome.ok = outcome.error.empty();
    });
  }
  for (std::thread& thread : threads) thread.join();  // bounded by the calls' own deadlines
  return outcomes;
}

}  // namespace

std::vector<Outcome> run_world(const WorldOptions& options, const Body& body) {
  return options.threads ? run_threads(options, body) : run_processes(options, body);
}

void expect_success(const std::vector<Outcome>& outcomes) {
  std::string failures;
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    const Outcome& outcome = outcomes[rank];
    if (outcome.ok) continue;
    failures += "rank " + std::to_string(rank) + ": " + outcome.error;
    if (outcome.hung) failures += " (hung)";
    if (outcome.signal != 0) failures += std::string(" (") + ::strsignal(outcome.signal) + ")";
    failures += "\n";
  }
  INFO(failures);
  REQUIRE(failures.empty());
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void check(rondo_status_t status, rondo_comm_t comm) {
  if (status != RONDO_OK)
    throw std::runtime_error(std::string(rondo_status_string(status)) + ": " + rondo_last_error(comm));
}

void check_fails(rondo_status_t status, rondo_status_t expected, const std::vector<std::string>& words,
                 rondo_comm_t comm) {
  const std::string text = rondo_last_error(comm);
  require(status == expected, std::string("expected ") + rondo_status_string(expected) + ", got " +
                                  rondo_status_string(status) + ": " + text);
  for (const std::string& word : words)
    require(text.find(word) != std::string::npos, "'" + word + "' is not in: " + text);
}

}  // namespace rondo::test
