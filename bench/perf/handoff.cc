// SPDX-License-Identifier: Apache-2.0
#include "handoff.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "host_clock.h"

namespace rondo::perf {
namespace {

constexpr double kProbe_us = 5000;
constexpr double kMaxProbe_us = 100'000;  // if other programs occupy the CPUs
constexpr int kMinBatches = 20;
constexpr double kLongest_ns = 10'000;  // beyond this the threads did not run concurrently
constexpr int kRoundTrips = 10;         // per batch
constexpr double kFar_ns = 120;         // near CPUs take 26 to 90 ns, distant ones 160 to 370
constexpr double kChanged = 1.5;        // factor between two states

bool run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

/// The cache line. An even value means it is the first thread's turn, an odd one the second's.
struct alignas(128) HandoffLine {
  static constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();
  std::atomic<uint64_t> turn = 1;
};
enum class HandoffStart { Unknown, Bound, Failed };
using BufferPlace = std::atomic<HandoffStart>;

/// Relaxed throughout: only the number itself passes between the threads.
void answer(HandoffLine& line) {
  for (uint64_t seen = 0; seen != HandoffLine::kEnd; seen = line.turn.load(std::memory_order_relaxed))
    if (seen % 2 == 1) line.turn.store(seen + 1, std::memory_order_relaxed);
}

double round_trips_us(HandoffLine& line, uint64_t& turn) {
  const double start = now_us();
  for (int trip = 0; trip < kRoundTrips; ++trip) {
    line.turn.store(++turn, std::memory_order_relaxed);
    ++turn;
    while (line.turn.load(std::memory_order_relaxed) != turn) {
    }
  }
  return now_us() - start;
}

double quickest_us(HandoffLine& line) {
  uint64_t turn = 2;
  while (line.turn.load(std::memory_order_relaxed) != turn) {
  }
  double quickest = std::numeric_limits<double>::max();
  const double start = now_us();
  double elapsed_us = 0;
  for (int batch = 0; elapsed_us < (batch < kMinBatches ? kMaxProbe_us : kProbe_us); ++batch) {
    quickest = std::min(quickest, round_trips_us(line, turn));
    elapsed_us = now_us() - start;
  }
  return quickest;
}

bool is_bound(const BufferPlace& other) {
  while (other.load() == HandoffStart::Unknown) std::this_thread::yield();
  return other.load() == HandoffStart::Bound;
}

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

std::optional<CpuPair> choose_pair(const std::vector<int>& cpus_of_ranks, const std::vector<int>& allowed) {
  for (const auto& cpus : {cpus_of_ranks, allowed})
    for (const int cpu : cpus)
      if (!cpus_of_ranks.empty() && cpu != cpus_of_ranks.front()) return CpuPair{cpus_of_ranks.front(), cpu};
  return std::nullopt;
}

std::optional<double> measure_handoff(const CpuPair& cpus) {
  if (cpus.first == cpus.second) return std::nullopt;
  HandoffLine line;
  BufferPlace first = HandoffStart::Unknown, second = HandoffStart::Unknown;
  std::optional<double> one_way_ns;
  const auto bind = [](BufferPlace& own, int cpu) {
    own.store(run_on(cpu) ? HandoffStart::Bound : HandoffStart::Failed);
  };
  std::thread other([&] {
    bind(second, cpus.second);
    if (second.load() == HandoffStart::Bound && is_bound(first)) answer(line);
  });
  // A thread of its own, so that the caller's binding does not change.
  std::thread measuring([&] {
    bind(first, cpus.first);
    if (first.load() == HandoffStart::Bound && is_bound(second)) {
      const double ns = quickest_us(line) * 1e3 / (2 * kRoundTrips);
      if (ns < kLongest_ns) one_way_ns = ns;
    }
    line.turn.store(HandoffLine::kEnd, std::memory_order_relaxed);
  });
  other.join();
  measuring.join();
  return one_way_ns;
}

std::string_view machine_state(const std::optional<double>& before_ns,
                               const std::optional<double>& after_ns) {
  if (!before_ns || !after_ns) return "";
  const auto [least, most] = std::minmax(*before_ns, *after_ns);
  if (most >= kChanged * least) return "changed";
  return *before_ns < kFar_ns ? "near" : "far";
}

std::string describe_handoff(const std::optional<CpuPair>& cpus, const std::optional<double>& ns) {
  if (!cpus) return "nothing to probe, there is one CPU";
  if (!ns) return fmt::format("unknown, CPUs {} and {} are busy or not allowed", cpus->first, cpus->second);
  return fmt::format("{:.1f} ns one way between CPUs {} and {}", *ns, cpus->first, cpus->second);
}

}  // namespace rondo::perf
