// SPDX-License-Identifier: Apache-2.0
// Measures how long a cache line takes from one CPU to another, which bounds any exchange between ranks on
// the two. A hypervisor that moves virtual CPUs changes it severalfold within seconds, so figures are
// comparable only if it was the same. Linux; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::perf {

struct CpuPair {
  int first = 0;
  int second = 0;
};

/// The CPUs that this thread may use, ascending.
std::vector<int> allowed_cpus();

/// The CPU of rank 0 and the first different one in `cpus_of_ranks`, or else in `allowed`; nothing if there
/// is only one CPU. `cpus_of_ranks`: those of the ranks on rank 0's host, rank 0's first.
std::optional<CpuPair> choose_pair(const std::vector<int>& cpus_of_ranks, const std::vector<int>& allowed);

/// The one-way time in ns: two threads pass a line back and forth for 5 ms, and the fastest batch of ten
/// round trips counts, which filters out interruptions. Nothing if the threads cannot run on the two CPUs at
/// the same time.
std::optional<double> measure_handoff(const CpuPair& cpus);

/// The state of the machine during a measurement, from the one-way times before and after it: "near", "far",
/// "changed", or nothing if a time is missing. bench/compare/states.py has the same limits.
std::string_view machine_state(const std::optional<double>& before_ns, const std::optional<double>& after_ns);

/// "34.1 ns one way between CPUs 0 and 1", or why there is no figure.
std::string describe_handoff(const std::optional<CpuPair>& cpus, const std::optional<double>& ns);

}  // namespace rondo::perf
