// SPDX-License-Identifier: Apache-2.0
#include "start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "host_clock.h"
#include "json.h"
#include "processes.h"
#include "session.h"
#include "team_start.h"

namespace rondo::perf {
namespace {

constexpr int kDefaultRanks = 2;
constexpr int kNoRank = -1;  // of a launched process that has not joined

// An invalid --transport is first detected here: that is the user's mistake, not the library's.
int start_failure(int rank, rondo_status_t status) {
  const int code = report_failure(rank, status);
  return status == RONDO_INVALID_ARGUMENT ? static_cast<int>(kBadOptions) : code;
}

// The worst exit code of a process's threads.
int worst(const std::vector<int>& codes) { return *std::max_element(codes.begin(), codes.end()); }

// The threads of this process among all.
struct Threads {
  int first = 0;
  int all = 1;
  double start_us = 0;
  GraphMeeting* graphs = nullptr;
};

int first_rank(const PerfOptions& options, int thread) { return thread * options.gpu.per_thread; }

// Runs one thread's ranks, once the threads' communicator exists.
int run_thread(const PerfOptions& options, rondo_comm_t comm, const Threads& threads, int thread,
               const RowReceiver& results) {
  SessionInput input;
  input.options = &options;
  input.comm = comm;
  input.thread = threads.first + thread;
  input.nthreads = threads.all;
  input.watches = thread == 0;
  input.graphs = threads.graphs;
  input.process = {options.threads * options.gpu.per_thread, threads.start_us};
  input.results = &results;
  const int code = run_session(input);
  // The threads of a process end together: release those that still wait.
  if (code == kLibraryFailed && options.threads > 1) static_cast<void>(rondo_abort(comm));
  return code;
}

// Runs body(thread) on `threads` threads; the first of them is this one.
int on_threads(int threads, const std::function<int(int)>& body) {
  std::vector<int> codes(static_cast<size_t>(threads));
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t)
    others.emplace_back([&codes, &body, t] { codes[static_cast<size_t>(t)] = body(t); });
  codes[0] = body(0);
  for (std::thread& other : others) other.join();
  return worst(codes);
}

// Every thread joins by itself.
int join_by_id(const PerfOptions& options, const rondo_unique_id_t& id, const Threads& threads,
               const RowReceiver& results) {
  return on_threads(options.threads, [&](int thread) {
    const rondo_config_t config = make_config(options);
    rondo_comm_t comm = nullptr;
    const int number = threads.first + thread;
    const rondo_status_t status = rondo_init_rank(&comm, threads.all, &id, number, &config);
    if (status != RONDO_OK) return start_failure(first_rank(options, number), status);
    const int code = run_thread(options, comm, threads, thread, results);
    static_cast<void>(rondo_destroy(comm));
    return code;
  });
}

int run_threads(const PerfOptions& options, const Threads& threads, const RowReceiver& results) {
  if (options.parallel_init) {
    rondo_unique_id_t id;
    const rondo_status_t status = rondo_get_unique_id(&id);
    return status == RONDO_OK ? join_by_id(options, id, threads, results) : start_failure(0, status);
  }
  const rondo_config_t config = make_config(options);
  std::vector<rondo_comm_t> comms(static_cast<size_t>(options.threads));
  const rondo_status_t status = rondo_init_all(comms.data(), options.threads, &config);
  if (status != RONDO_OK) return start_failure(0, status);
  // Each thread destroys the communicator that it used: destruction, too, is collective.
  return on_threads(options.threads, [&](int thread) {
    rondo_comm_t comm = comms[static_cast<size_t>(thread)];
    const int code = run_thread(options, comm, threads, thread, results);
    static_cast<void>(rondo_destroy(comm));
    return code;
  });
}

// Runs in a process that run_processes() started: the first one provides the id.
int run_child(const PerfOptions& options, int processes, int number, const ChildPipes& pipes,
              Threads threads) {
  rondo_unique_id_t id;
  if (number == 0) {
    const rondo_status_t status = rondo_get_unique_id(&id);
    if (status != RONDO_OK) return start_failure(0, status);
    for (int other = 1; other < processes; ++other) {
      if (!write_all(pipes.id_out, &id, sizeof(id))) return kLibraryFailed;
    }
  } else if (!read_all(pipes.id_in, &id, sizeof(id))) {
    return kLibraryFailed;  // the first process has failed and reported why
  }
  threads.first = number * options.threads;
  threads.all = processes * options.threads;
  const auto send = [&](std::string line) {
    line += '\n';
    write_all(pipes.rows_out, line.data(), line.size());
  };
  const RowReceiver parent{[&](const Row& row) { send(row_to_json(row)); },
                           [&](const TableEnd& end) { send(table_end_to_json(end)); }};
  return join_by_id(options, id, threads, parent);
}

int run_started(const PerfOptions& options, int processes, Threads threads, const RowReceiver& results) {
  threads.start_us = now_us();
  return run_processes(
      processes,
      [&](int number, const ChildPipes& pipes) {
        return run_child(options, processes, number, pipes, threads);
      },
      [&](const std::string& line) {
        if (const auto end = table_end_from_json(line)) return results.table_end(*end);
        if (const auto row = row_from_json(line)) results.row(*row);
      });
}

// For launched processes with several threads each: a communicator of the processes distributes the id.
int run_launched_threads(const PerfOptions& options, rondo_comm_t processes, Threads threads,
                         const RowReceiver& results) {
  int number = 0, count = 0;
  rondo_unique_id_t id{};
  rondo_status_t status = rondo_rank(processes, &number);
  if (status == RONDO_OK) status = rondo_size(processes, &count);
  if (status == RONDO_OK && number == 0) status = rondo_get_unique_id(&id);
  if (status == RONDO_OK) status = rondo_broadcast(&id, &id, sizeof(id), RONDO_UINT8, 0, processes, nullptr);
  threads.first = number * options.threads;
  threads.all = count * options.threads;
  if (status != RONDO_OK) return start_failure(first_rank(options, threads.first), status);
  return join_by_id(options, id, threads, results);
}

int run_launched(const PerfOptions& options, Threads threads, const RowReceiver& results) {
  const rondo_config_t config = make_config(options);
  rondo_comm_t comm = nullptr;
  rondo_status_t status = rondo_init(&comm, nullptr, &config);
  if (status != RONDO_OK) return start_failure(kNoRank, status);
  int code = kAllRight;
  if (options.threads > 1) {
    code = run_launched_threads(options, comm, threads, results);
  } else {
    status = rondo_rank(comm, &threads.first);
    if (status == RONDO_OK) status = rondo_size(comm, &threads.all);
    code = status == RONDO_OK ? run_thread(options, comm, threads, 0, results) : start_failure(0, status);
  }
  static_cast<void>(rondo_destroy(comm));
  return code;
}

}  // namespace

bool launched() {
  const auto set = [](const char* name) { return std::getenv(name) != nullptr; };
  return (set("RANK") && set("WORLD_SIZE")) || set("OMPI_COMM_WORLD_RANK") || set("PMI_RANK") ||
         set("SLURM_PROCID");
}

int run_benchmark(const PerfOptions& options, const RowReceiver& results) {
  GraphMeeting graphs(static_cast<size_t>(options.threads * options.gpu.per_thread));
  const Threads threads{0, options.threads, now_us(), &graphs};
  if (options.ranks.empty() && launched()) return run_launched(options, threads, results);
  const bool several = options.threads > 1 || options.gpu.per_thread > 1;
  if (options.ranks.empty() && several) return run_threads(options, threads, results);
  std::vector<int> counts = options.ranks;
  if (counts.empty()) {
    counts = {kDefaultRanks};
    fmt::print("# {} ranks, as no number was given: see --ranks and -t\n", kDefaultRanks);
  }
  int code = kAllRight;
  for (const int processes : counts) {
    const int one = run_started(options, processes, threads, results);
    if (one != kAllRight && one != kWrongValues) return one;
    code = std::max(code, one);
  }
  return code;
}

}  // namespace rondo::perf
