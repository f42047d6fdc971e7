// SPDX-License-Identifier: Apache-2.0
// HostInfo: the properties of a host that matter to its ranks: the CPUs that may be used, which of them are
// threads of one core or share a cache or a memory node, and how much CPU time the container allows. Plain
// immutable data.
//
// Loading it takes about 15 ms, so one rank of a host detects it and passes the text to the others. Any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rondo {

/// A hardware thread. Cores and caches are numbered from 0 in machine order: adjacent ones have adjacent
/// numbers.
struct Cpu {
  int id = 0;     // the operating system's number
  int core = 0;   // equal: threads of one core
  int numa = -1;  // the operating system's number of the nearest memory node; -1: unknown
  int l2 = -1;    // equal: same L2 cache; -1: unknown
  int l3 = -1;    // equal: same L3 cache; -1: unknown
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

struct HostInfo {
  /// CPUs that this container or job may use: first one thread of each core, in machine order, then each
  /// core's second thread, and so on.
  std::vector<Cpu> cpus;
  int installed_cpus = 0;     // all CPUs of the machine, allowed or not
  double cpu_quota = 0;       // the control groups' limit on CPU time, as a number of CPUs; 0: no limit
  uint64_t memory_bytes = 0;  // the machine's, or the control groups' limit if that is less

  int cores() const;
  /// The number of threads that can run at once: the number of CPUs, or the quota rounded up if that is less.
  int concurrency() const;
  friend bool operator==(const HostInfo&, const HostInfo&) = default;
};

/// This host.
Result<HostInfo> detect_host();

/// A host from a file written by hwloc's lstopo, or from hwloc's synthetic notation ("numa:2 l3:1 core:8
/// pu:2"): other machines, for tests and for planning. Ignores control groups.
Result<HostInfo> host_from_xml(const std::string& path);
Result<HostInfo> host_from_synthetic(const std::string& description);

/// Converts to one line of text and back.
std::string to_text(const HostInfo& host);
Result<HostInfo> host_from_text(std::string_view text);

/// The same host with only these CPUs (operating system's numbers), as if a launcher had bound the process.
HostInfo restricted_to(const HostInfo& host, std::span<const int> cpu_ids);

/// The CPU of each of the host's ranks: consecutive ranks on adjacent cores, spread over all cores. If ranks
/// outnumber cores, each core gets a block of consecutive ranks, assigned to its threads in turn. Empty if
/// the host has no CPU.
std::vector<int> place_ranks(const HostInfo& host, int local_ranks);

}  // namespace rondo
