// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "host_clock.h"
#include "memory.h"
#include "try.h"

namespace rondo::perf {
namespace {

constexpr int kMaxRanksListed = 16;

// Statistics of one number over all ranks.
struct Spread {
  double mean = 0, most = 0;
};

Spread spread(const std::vector<double>& all, size_t which, size_t numbers) {
  Spread result;
  for (size_t i = which; i < all.size(); i += numbers) {
    result.mean += all[i];
    result.most = std::max(result.most, all[i]);
  }
  result.mean /= static_cast<double>(all.size() / numbers);
  return result;
}

std::string mebibytes(double kib) { return fmt::format("{:.2f} MiB", kib / 1024); }

std::string sizes_line(const PerfOptions& options) {
  const Sweep& sweep = options.sweep;
  const std::string step = sweep.factor > 1 ? fmt::format("{:g}(factor)", sweep.factor)
                                            : fmt::format("{}(bytes)", sweep.step_bytes);
  return fmt::format(
      "# minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} validation: {}\n",
      sweep.min_bytes, sweep.max_bytes, step, options.warmup, options.iterations, options.aggregate,
      options.checks);
}

// What -I times, and what that costs; empty without it.
std::string iterations_line(const PerfOptions& options, const Setup& setup) {
  if (!options.per_iteration) return "";
  const std::string cost =
      setup.clock_read_ns
          ? fmt::format("reading the clock takes {:.0f} ns, once per iteration", *setup.clock_read_ns)
          : "by a CUDA event per iteration";
  const std::string skipped =
      options.skipped_iterations > 0 ? fmt::format(", without the first {}", options.skipped_iterations) : "";
  return fmt::format("# i_*: over the iterations{}, of each the slowest rank's; {}\n", skipped, cost);
}

// Empty if no GPU is used.
std::string setup_line(const Setup& setup) {
  if (setup.gpu.empty()) return "";
  std::string text = fmt::format("# memory: {} calls: {} clock: {} driver: CUDA {}\n", setup.memory,
                                 setup.calls, setup.clock, setup.driver);
  if (setup.graph_launches > 0) text += fmt::format("# graph launches: {}\n", setup.graph_launches);
  if (setup.copy_gbs)
    text += fmt::format("# copy rate of rank 0's GPU: {:.2f} GB/s read and written\n", *setup.copy_gbs);
  return text;
}

}  // namespace

rondo_status_t report_ranks(const Team& team, const ProcessFacts& process, const Setup& setup) {
  if (!team.prints()) return RONDO_OK;
  int version = 0;
  PERF_TRY(rondo_version(&version));
  std::string text = fmt::format("# rondo-perf, Rondo {}.{}.{}, {} ranks ({} per process)\n", version / 10000,
                                 version / 100 % 100, version % 100, team.nranks, process.ranks);
  text += sizes_line(*team.options) + iterations_line(*team.options, setup) + setup_line(setup);
  text += "#\n# Using ranks\n";
  for (int r = 0; r < std::min(team.nranks, kMaxRanksListed); ++r) {
    const Who& one = team.roster[static_cast<size_t>(r)];
    const std::string gpu = one.device < 0 ? "" : fmt::format(" device {:2} [{}]", one.device, one.gpu);
    text += fmt::format("#  Rank {:2}  Pid {:6} on {}{}\n", r, one.pid, one.host, gpu);
  }
  if (team.nranks > kMaxRanksListed) text += fmt::format("#  and {} more\n", team.nranks - kMaxRanksListed);
  fmt::print("{}#\n", text);
  std::fflush(stdout);
  return RONDO_OK;
}

rondo_status_t report_memory(const Team& team, const ProcessFacts& process) {
  const ProcessMemory memory = memory_of(getpid());
  std::vector<double> all;
  const double ranks = process.ranks;
  PERF_TRY(collect(team, {memory.peak_kib / ranks, memory.proportional_kib / ranks}, all));
  if (team.prints()) {
    const ProcessMemory bare = memory_of_bare_process();
    const Spread peak = spread(all, 0, 2), share = spread(all, 1, 2);
    fmt::print("# Memory per rank      : peak resident {} (max {}), proportional {} (max {})\n",
               mebibytes(peak.mean), mebibytes(peak.most), mebibytes(share.mean), mebibytes(share.most));
    fmt::print("#   in excess of an idle process ({}, {}): {} (max {}), {} (max {})\n#\n",
               mebibytes(bare.peak_kib), mebibytes(bare.proportional_kib),
               mebibytes(peak.mean - bare.peak_kib / ranks), mebibytes(peak.most - bare.peak_kib / ranks),
               mebibytes(share.mean - bare.proportional_kib / ranks),
               mebibytes(share.most - bare.proportional_kib / ranks));
    std::fflush(stdout);
  }
  // A rank's figures are valid only while the others still share their pages with it.
  return rondo_barrier(team.control, nullptr);
}

rondo_status_t report_startup(const Team& team, const ProcessFacts& process) {
  PERF_TRY(rondo_barrier(team.control, nullptr));
  std::vector<double> all;
  PERF_TRY(collect(team, {now_us() - process.start_us}, all));
  if (team.prints()) {
    const Spread time = spread(all, 0, 1);
    fmt::print("# Start to first barrier: {:.3f} s with {} ranks (the slowest; mean {:.3f} s)\n",
               time.most * 1e-6, team.nranks, time.mean * 1e-6);
  }
  return report_memory(team, process);
}

}  // namespace rondo::perf
