// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <thread>

#include "catch.h"
#include "clock.h"
#include "folder.h"
#include "sanitized.h"

namespace rondo::test {
namespace {

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

std::vector<Outcome> run_processes(const WorldOptions& options, const Body& body) {
  const Folder folder;
  std::deque<Process> processes;
  for (int rank = 0; rank < options.nranks; rank += options.ranks_each)
    processes.emplace_back([&] {
      ::setenv("RONDO_STANDIN_VERBS", folder.path().c_str(), 1);  // where ranks meet, if it is verbs
      for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
      const std::string failure = live_together(options, body, rank, folder / "id");
      require(failure.empty(), failure);
    });
  const double until = seconds_now() + options.timeout_s * (kSanitized ? 3 : 1);
  std::vector<Outcome> outcomes;
  for (Process& process : processes) outcomes.push_back(process.wait(until - seconds_now()));
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
    const std::string failure = outcomes[rank].failure();
    if (!failure.empty()) failures += "rank " + std::to_string(rank) + ": " + failure + "\n";
  }
  INFO(failures);
  REQUIRE(failures.empty());
}

void await_all(const Rank& rank, std::atomic<int>& arrived) {
  for (++arrived; arrived < rank.size;) sleep_ms(1);
}

std::string last_algorithm(const Rank& rank) {
  const char* name = nullptr;
  check(rondo_last_algorithm(rank.comm, &name), rank.comm);
  return name;
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
