// SPDX-License-Identifier: Apache-2.0
#include "gpu_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <numeric>
#include <optional>

#include "base/words.h"
#include "exit_code.h"
#include "options.h"
#include "words.h"

namespace rondo::perf {
namespace {

constexpr std::string_view kSpaceNames[] = {"host", "cuda", "managed", "pinned"};  // by Space

std::optional<Space> space_by_name(std::string_view name) {
  for (const Space space : {Space::Host, Space::Cuda, Space::Managed, Space::Pinned})
    if (name == space_name(space)) return space;
  return std::nullopt;
}

Refusal refuse(std::string sentence) { return {std::move(sentence), kBadOptions}; }

Refusal check_without(const GpuWords& words, const GpuOptions& options) {
  if (options.per_thread != 1) return refuse("-g: ranks are not GPUs here; say how many with --ranks or -t");
  if (options.graph_launches != 0)
    return refuse("-G: CUDA graphs need CUDA memory, which this run does not use; leave it at 0");
  if (options.limits)
    return refuse("--limits: the limit is that of a GPU's memory, which this run does not use");
  if (!words.devices.empty()) return refuse("--devices: this run uses no GPU");
  return {};
}

Refusal read_devices(const std::string& list, int count, GpuOptions& options) {
  if (list.empty()) {
    options.devices.resize(static_cast<size_t>(count));
    std::iota(options.devices.begin(), options.devices.end(), 0);
  }
  for (const std::string& word : split(list)) {
    const auto device = whole_number(word);
    if (!device || *device < 0 || *device >= count)
      return refuse(
          fmt::format("--devices is '{}': give numbers from 0 to {}, comma separated", list, count - 1));
    options.devices.push_back(*device);
  }
  return {};
}

// Refuses options that cannot be combined on a GPU.
Refusal check_together(const PerfOptions& options) {
  const bool graph = options.gpu.graph_launches > 0;
  if (graph && options.queue)
    return refuse("-G: calls on a queue are not part of a graph; leave --queue out");
  if (graph && options.pace != Pace::Free)
    return refuse("-G: nothing comes between calls of a graph; leave -z at 0");
  if (graph && options.per_iteration)
    return refuse("-I: iterations of a graph have no times of their own; leave -G or -I out");
  const bool waits = options.pace != Pace::Free || options.fresh || times_by_events(options);
  if (options.per_iteration && !waits)
    return refuse(
        "-I: calls on a stream have no end until it is waited for; give -z 2 to time by the host's clock");
  if (options.shared_memory)
    return refuse("-R 2: rondo_mem_alloc gives memory of the host; it needs --memory host");
  return {};
}

}  // namespace

std::string_view space_name(Space space) { return kSpaceNames[static_cast<size_t>(space)]; }

bool times_by_events(const PerfOptions& options) {
  const bool uses_host_clock = options.gpu.host_time || options.cpu_time || options.fresh;
  return options.gpu.used() && !options.queue && options.pace == Pace::Free && !uses_host_clock;
}

void declare_gpus(CLI::App& app, GpuWords& words, GpuOptions& options) {
  app.add_option(
         "--memory", words.memory,
         "where buffers are: host, cuda, managed, pinned (cuda if there is a GPU, else host); 1: as -M 1")
      ->group("GPUs");
  app.add_option("-g,--ngpus", options.per_thread,
                 "ranks of each thread, each with a GPU (1); more ranks than GPUs share them")
      ->group("GPUs");
  app.add_option(
         "--devices", words.devices,
         "GPUs that the ranks of a host take in turn, for example 0,1; 0: all ranks on GPU 0 (all GPUs)")
      ->group("GPUs");
  app.add_option("-G,--cudagraph", options.graph_launches,
                 "capture the iterations into a CUDA graph and launch it N times; 0: no graph (0)")
      ->group("GPUs");
  app.add_flag("--limits", options.limits, "compare with the limit set by the GPU's copy rate")
      ->group("GPUs");
  app.add_flag("--host_time", options.host_time, "measure with the host's clock instead of CUDA events")
      ->group("GPUs");
}

Refusal read_gpus(const GpuWords& words, const CountGpus& count_gpus, PerfOptions& options) {
  GpuOptions& gpu = options.gpu;
  // In nccl-tests, --memory means -M: whether to report memory.
  const bool is_report = words.memory == "0" || words.memory == "1";
  if (is_report) options.memory = words.memory == "1";
  const auto named = space_by_name(words.memory);
  if (!named && !is_report && !words.memory.empty())
    return refuse(fmt::format("--memory is '{}': use {}{}", words.memory, fmt::join(kSpaceNames, ", "),
                              did_you_mean(words.memory, kSpaceNames)));
  if (gpu.graph_launches < 0)
    return refuse(fmt::format("-G is {}: it must be at least 0", gpu.graph_launches));
  const Gpus seen = named == Space::Host ? Gpus() : count_gpus();
  if (named && *named != Space::Host && seen.count == 0)
    return {fmt::format("--memory {}: {}", words.memory, seen.why_none), kNoGpu};
  gpu.space = named.value_or(seen.count > 0 ? Space::Cuda : Space::Host);
  if (!gpu.used()) return check_without(words, gpu);
  Refusal refusal = read_devices(words.devices, seen.count, gpu);
  return refusal.sentence.empty() ? check_together(options) : refusal;
}

}  // namespace rondo::perf
