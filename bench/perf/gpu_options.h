// SPDX-License-Identifier: Apache-2.0
// The GPU part of the command line. Parsed once, before any rank starts; constant afterwards.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace rondo::perf {

struct PerfOptions;

/// Where buffers are.
enum class Space {
  Host,
  Cuda,     // memory of the rank's GPU
  Managed,  // memory that migrates between host and GPU by itself
  Pinned    // host memory that the GPU can access
};
std::string_view space_name(Space space);

struct GpuOptions {
  Space space = Space::Host;
  int per_thread = 1;        // ranks per thread
  std::vector<int> devices;  // assigned in turn to the ranks of a host
  int graph_launches = 0;    // 0: calls are made one by one
  bool limits = false;
  bool host_time = false;

  bool used() const { return space != Space::Host; }
};

/// The GPUs that this process sees; `why_none` is a message if there are none.
struct Gpus {
  int count = 0;
  std::string why_none;
};
using CountGpus = std::function<Gpus()>;

/// Options that cannot be parsed immediately: their defaults depend on other options and on the machine.
struct GpuWords {
  std::string memory, devices;
};

/// Why the options are invalid; an empty sentence means success.
struct Refusal {
  std::string sentence;
  int code = 0;
};

/// Whether times come from CUDA events in the ranks' streams instead of a host clock.
bool times_by_events(const PerfOptions& options);

void declare_gpus(CLI::App& app, GpuWords& words, GpuOptions& options);

/// Calls `count_gpus` only if GPUs may be used.
Refusal read_gpus(const GpuWords& words, const CountGpus& count_gpus, PerfOptions& options);

}  // namespace rondo::perf
