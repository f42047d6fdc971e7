#include "start.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "json.h"
#include "processes.h"
#include "session.h"

namespace rondo::perf {
namespace {

using OnRow = std::function<void(const Row&)>;

constexpr int kDefaultRanks = 2;

double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

rondo_config_t make_config(const Options& options) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = static_cast<int64_t>(options.timeout_s * 1000);
  if (!options.transport.empty()) config.transport = options.transport.c_str();
  return config;
}

// A wrong --transport shows here first: that is the user's mistake, not the library's.
int start_failure(int rank, rondo_status_t status) {
  const int code = report_failure(rank, status);
  return status == RONDO_INVALID_ARGUMENT ? static_cast<int>(kBadOptions) : code;
}

// The worst of what the threads of a process returned.
int worst(const std::vector<int>& codes) { return *std::max_element(codes.begin(), codes.end()); }

struct Place {
  int first_rank = 0;  // of this process
  int nranks = 1;
};

// One rank on the current thread, once its communicator exists.
int run_rank(const Options& options, rondo_comm_t comm, const Place& place, int thread, double start_us,
             const OnRow& on_row) {
  SessionInput input;
  input.options = &options;
  input.comm = comm;
  input.rank = place.first_rank + thread;
  input.nranks = place.nranks;
  input.watches = thread == 0;
  input.process = {options.threads, start_us};
  input.on_row = on_row;
  const int code = run_session(input);
  // Threads of one process die together: release those that still wait.
  if (code == kLibraryFailed && options.threads > 1) static_cast<void>(rondo_abort(comm));
  return code;
}

// Runs body(thread) on as many threads as the options say; one thread is this one.
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
int join_by_id(const Options& options, const rondo_unique_id_t& id, const Place& place, double start_us,
               const OnRow& on_row) {
  return on_threads(options.threads, [&](int thread) {
    const rondo_config_t config = make_config(options);
    rondo_comm_t comm = nullptr;
    const int rank = place.first_rank + thread;
    const rondo_status_t status = rondo_init_rank(&comm, place.nranks, &id, rank, &config);
    if (status != RONDO_OK) return start_failure(rank, status);
    const int code = run_rank(options, comm, place, thread, start_us, on_row);
    static_cast<void>(rondo_destroy(comm));
    return code;
  });
}

int run_threads(const Options& options, double start_us, const OnRow& on_row) {
  const Place place{0, options.threads};
  if (options.parallel_init) {
    rondo_unique_id_t id;
    const rondo_status_t status = rondo_get_unique_id(&id);
    return status == RONDO_OK ? join_by_id(options, id, place, start_us, on_row) : start_failure(0, status);
  }
  const rondo_config_t config = make_config(options);
  std::vector<rondo_comm_t> comms(static_cast<size_t>(options.threads));
  const rondo_status_t status = rondo_init_all(comms.data(), options.threads, &config);
  if (status != RONDO_OK) return start_failure(0, status);
  // A communicator is destroyed where it was used: the end, too, is something that ranks do together.
  return on_threads(options.threads, [&](int thread) {
    rondo_comm_t comm = comms[static_cast<size_t>(thread)];
    const int code = run_rank(options, comm, place, thread, start_us, on_row);
    static_cast<void>(rondo_destroy(comm));
    return code;
  });
}

// In a process that run_processes() started: the id comes from the first one.
int run_child(const Options& options, int processes, int number, const ChildPipes& pipes, double start_us) {
  rondo_unique_id_t id;
  if (number == 0) {
    const rondo_status_t status = rondo_get_unique_id(&id);
    if (status != RONDO_OK) return start_failure(0, status);
    for (int other = 1; other < processes; ++other) {
      if (!write_all(pipes.id_out, &id, sizeof(id))) return kLibraryFailed;
    }
  } else if (!read_all(pipes.id_in, &id, sizeof(id))) {
    return kLibraryFailed;  // the first process has failed, and said why
  }
  const Place place{number * options.threads, processes * options.threads};
  return join_by_id(options, id, place, start_us, [&](const Row& row) {
    const std::string line = row_to_json(row) + "\n";
    write_all(pipes.rows_out, line.data(), line.size());
  });
}

int run_started(const Options& options, int processes, const OnRow& on_row) {
  const double start_us = now_us();
  return run_processes(
      processes,
      [&](int number, const ChildPipes& pipes) {
        return run_child(options, processes, number, pipes, start_us);
      },
      [&](const std::string& line) {
        if (const auto row = row_from_json(line)) on_row(*row);
      });
}

// The launcher's processes, each with several threads: they share an id over a communicator of the processes.
int run_launched_threads(const Options& options, rondo_comm_t processes, double start_us,
                         const OnRow& on_row) {
  int number = 0, count = 0;
  rondo_unique_id_t id{};
  rondo_status_t status = rondo_rank(processes, &number);
  if (status == RONDO_OK) status = rondo_size(processes, &count);
  if (status == RONDO_OK && number == 0) status = rondo_get_unique_id(&id);
  if (status == RONDO_OK) status = rondo_broadcast(&id, &id, sizeof(id), RONDO_UINT8, 0, processes, nullptr);
  if (status != RONDO_OK) return start_failure(number * options.threads, status);
  return join_by_id(options, id, {number * options.threads, count * options.threads}, start_us, on_row);
}

int run_launched(const Options& options, double start_us, const OnRow& on_row) {
  const rondo_config_t config = make_config(options);
  rondo_comm_t comm = nullptr;
  rondo_status_t status = rondo_init(&comm, nullptr, &config);
  if (status != RONDO_OK) return start_failure(0, status);
  int code = kAllRight;
  if (options.threads > 1) {
    code = run_launched_threads(options, comm, start_us, on_row);
  } else {
    Place place;
    status = rondo_rank(comm, &place.first_rank);
    if (status == RONDO_OK) status = rondo_size(comm, &place.nranks);
    code =
        status == RONDO_OK ? run_rank(options, comm, place, 0, start_us, on_row) : start_failure(0, status);
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

int run_benchmark(const Options& options, const OnRow& on_row) {
  const double start_us = now_us();
  if (options.ranks.empty() && launched()) return run_launched(options, start_us, on_row);
  if (options.ranks.empty() && options.threads > 1) return run_threads(options, start_us, on_row);
  std::vector<int> counts = options.ranks;
  if (counts.empty()) {
    counts = {kDefaultRanks};
    fmt::print("# {} ranks, as nothing else was asked for: see --ranks and -t\n", kDefaultRanks);
  }
  int code = kAllRight;
  for (const int processes : counts) {
    const int one = run_started(options, processes, on_row);
    if (one != kAllRight && one != kWrongValues) return one;
    code = std::max(code, one);
  }
  return code;
}

}  // namespace rondo::perf
