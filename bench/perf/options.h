// SPDX-License-Identifier: Apache-2.0
// The command line of rondo-perf, which follows nccl-tests'. Parsed once, before any rank starts; constant
// afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective.h"
#include "gpu_options.h"
#include "sizes.h"
#include "types.h"

namespace rondo::perf {

/// How a row combines the ranks' times (nccl-tests' numbers).
enum class Average { RankZero = 0, Mean = 1, Least = 2, Most = 3 };

/// Waiting between calls (nccl-tests' numbers): 1 a barrier after each call, 3 an untimed barrier after each
/// iteration; 0 and 2 nothing, since a blocking call waits for itself.
enum class Pace { Free = 0, BarrierEachCall = 1, WaitEachCall = 2, UntimedBarrier = 3 };

struct PerfOptions {
  std::vector<Collective> collectives;
  Sweep sweep;
  int iterations = 20;
  int warmup = 5;
  int aggregate = 1;
  int cycles = 1;  // 0: for ever
  int checks = 1;
  Pace pace = Pace::Free;
  Average average = Average::Mean;
  bool per_iteration = false;  // time each iteration too
  int skipped_iterations = 0;  // leading ones, in the statistics of iterations

  std::vector<int> ranks;  // process counts to start; empty: the launcher's ranks, or threads only
  int threads = 1;
  bool parallel_init = false;
  double timeout_s = 0;  // 0: none

  std::vector<int> types;  // rondo_type_t
  std::vector<Op> ops;
  std::vector<int> roots;               // empty: all
  std::string transport;                // empty: the library's choice
  std::vector<std::string> algorithms;  // NAME, COLLECTIVE=NAME or "all"; empty: the library's choice
  bool varying = false;
  bool ping_pong = false;  // send_recv: one message at a time, from rank to rank
  bool one_way = false;    // send_recv: from even ranks to the next ones
  bool queue = false;
  bool register_buffers = false;
  bool shared_memory = false;
  size_t unalign = 0;  // elements
  uint64_t seed = 1;

  GpuOptions gpu;

  bool fresh = false;  // write the inputs anew before each iteration
  bool cpu_time = false;
  bool timestamps = false;
  bool memory = false;  // report memory use
  bool startup = false;
  bool explain = false;    // explain calls instead of making them
  std::string rules_file;  // write choices as rules instead of making calls; "-": print them
  bool list_algorithms = false;
  bool probe = false;  // only probe the CPUs
  std::string json_file;
  std::string plot_file;
  bool ascii = false;  // plot below each table

  bool makes_calls() const { return !explain && rules_file.empty(); }
};

/// The result of parsing: run with the options, or print `message` (to stdout for code 0) and exit with
/// `code`.
struct ParsedPerfOptions {
  bool run = false;
  PerfOptions options;
  int code = 0;
  std::string message;
};

/// Why no plot is written to a file of that name; empty: it is.
std::string check_plot_file(const std::string& path);

ParsedPerfOptions parse_options(
    int argc, const char* const* argv, const CountGpus& count_gpus = [] { return Gpus(); });

}  // namespace rondo::perf
