#include "report.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "memory.h"
#include "try.h"

namespace rondo::perf {
namespace {

constexpr int kMostRanksListed = 16;

// Of one number that every rank gave.
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

std::string sizes_line(const Options& options) {
  const Sweep& sweep = options.sweep;
  const std::string step = sweep.factor > 1 ? fmt::format("{:g}(factor)", sweep.factor)
                                            : fmt::format("{}(bytes)", sweep.step_bytes);
  return fmt::format(
      "# minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} validation: {}\n",
      sweep.min_bytes, sweep.max_bytes, step, options.warmup, options.iterations, options.aggregate,
      options.checks);
}

}  // namespace

rondo_status_t report_ranks(const RankContext& rank, const ProcessFacts& process) {
  struct Who {
    int32_t pid;
    char host[60];
  } who{};
  who.pid = getpid();
  gethostname(who.host, sizeof(who.host) - 1);
  std::vector<Who> all(static_cast<size_t>(rank.nranks));
  PERF_TRY(rondo_all_gather(&who, all.data(), sizeof(who), RONDO_UINT8, rank.control, nullptr));
  if (rank.rank != 0) return RONDO_OK;
  int version = 0;
  PERF_TRY(rondo_version(&version));
  std::string text = fmt::format("# rondo-perf, Rondo {}.{}.{}, {} ranks ({} a process)\n", version / 10000,
                                 version / 100 % 100, version % 100, rank.nranks, process.ranks);
  text += sizes_line(*rank.options);
  text += "#\n# Using ranks\n";
  for (int r = 0; r < std::min(rank.nranks, kMostRanksListed); ++r) {
    const Who& one = all[static_cast<size_t>(r)];
    text += fmt::format("#  Rank {:2}  Pid {:6} on {}\n", r, one.pid, one.host);
  }
  if (rank.nranks > kMostRanksListed) text += fmt::format("#  and {} more\n", rank.nranks - kMostRanksListed);
  fmt::print("{}#\n", text);
  std::fflush(stdout);
  return RONDO_OK;
}

rondo_status_t report_memory(const RankContext& rank, const ProcessFacts& process) {
  const ProcessMemory memory = memory_of(getpid());
  std::vector<double> all;
  const double ranks = process.ranks;
  PERF_TRY(collect(rank, {memory.peak_kib / ranks, memory.proportional_kib / ranks}, all));
  if (rank.rank == 0) {
    const ProcessMemory bare = memory_of_bare_process();
    const Spread peak = spread(all, 0, 2), share = spread(all, 1, 2);
    fmt::print("# Memory a rank        : peak resident {} (most {}), proportional {} (most {})\n",
               mebibytes(peak.mean), mebibytes(peak.most), mebibytes(share.mean), mebibytes(share.most));
    fmt::print("#   beyond a process that does nothing ({}, {}): {} (most {}), {} (most {})\n#\n",
               mebibytes(bare.peak_kib), mebibytes(bare.proportional_kib),
               mebibytes(peak.mean - bare.peak_kib / ranks), mebibytes(peak.most - bare.peak_kib / ranks),
               mebibytes(share.mean - bare.proportional_kib / ranks),
               mebibytes(share.most - bare.proportional_kib / ranks));
    std::fflush(stdout);
  }
  // The numbers of a rank hold only as long as its neighbours still share their pages with it.
  return rondo_barrier(rank.control, nullptr);
}

rondo_status_t report_startup(const RankContext& rank, const ProcessFacts& process) {
  PERF_TRY(rondo_barrier(rank.control, nullptr));
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double now_us = static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
  std::vector<double> all;
  PERF_TRY(collect(rank, {now_us - process.start_us}, all));
  if (rank.rank == 0) {
    const Spread time = spread(all, 0, 1);
    fmt::print("# Start to first barrier: {:.3f} s with {} ranks (the slowest; mean {:.3f} s)\n",
               time.most * 1e-6, rank.nranks, time.mean * 1e-6);
  }
  return report_memory(rank, process);
}

}  // namespace rondo::perf
