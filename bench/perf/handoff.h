// How long a cache line takes from one CPU to another, which bounds whatever ranks on the two exchange. A
// hypervisor that moves virtual CPUs changes it several times over within seconds, so figures compare only
// where it was the same. Linux; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rondo::perf {

struct CpuPair {
  int first = 0;
  int second = 0;
};

/// The CPUs that this thread may use, ascending.
std::vector<int> allowed_cpus();

/// The CPU of rank 0 and the first other one of `cpus_of_ranks`, or else of `allowed`; nothing where there is
/// one CPU only. `cpus_of_ranks`: of the ranks of rank 0's host, rank 0's first.
std::optional<CpuPair> choose_pair(const std::vector<int>& cpus_of_ranks, const std::vector<int>& allowed);

/// The time one way in ns: two threads hand a line to and fro for 5 ms, and the quickest ten round trips
/// count, so that what runs beside them does not. Nothing where the threads cannot run on the two CPUs at the
/// same time.
std::optional<double> measure_handoff(const CpuPair& cpus);

/// "34.1 ns one way between CPUs 0 and 1", or why there is no figure.
std::string describe_handoff(const std::optional<CpuPair>& cpus, const std::optional<double>& ns);

}  // namespace rondo::perf
