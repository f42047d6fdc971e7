// The part of the command line that is about GPUs. Read once, before any rank starts; then constant.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace rondo::perf {

struct Options;

/// Where buffers lie.
enum class Space {
  Host,
  Cuda,     // memory of the rank's GPU
  Managed,  // memory that moves between host and GPU by itself
  Pinned    // memory of the host that the GPU reaches
};
std::string_view space_name(Space space);

struct GpuOptions {
  Space space = Space::Host;
  int per_thread = 1;        // ranks that a thread drives
  std::vector<int> devices;  // that the ranks of a host take in turn
  int graph_launches = 0;    // 0: calls are made one by one
  bool limits = false;
  bool host_time = false;

  bool used() const { return space != Space::Host; }
};

/// What this process sees; `why_none` is a sentence where that is nothing.
struct Gpus {
  int count = 0;
  std::string why_none;
};
using CountGpus = std::function<Gpus()>;

/// What cannot be understood yet: the default depends on other words, and on the machine.
struct GpuWords {
  std::string memory, devices;
};

/// Why the options cannot be; an empty sentence is success.
struct Refusal {
  std::string sentence;
  int code = 0;
};

/// Whether CUDA events in the ranks' streams tell the time, rather than a clock of the host.
bool times_by_events(const Options& options);

void declare_gpus(CLI::App& app, GpuWords& words, GpuOptions& options);

/// `count_gpus` is called where GPUs may be used.
Refusal read_gpus(const GpuWords& words, const CountGpus& count_gpus, Options& options);

}  // namespace rondo::perf
