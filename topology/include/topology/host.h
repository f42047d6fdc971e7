// HostInfo: what one host is, as far as ranks on it care: CPUs that may be used, which of them are the two
// threads of a core, share a cache or a memory node, and how much of them the container allows. Plain
// immutable data.
//
// Loading it costs about 15 ms, so one rank of a host detects and hands the text to the others. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rondo {

/// A hardware thread. Cores and caches are numbered from 0 along the machine: neighbours have neighbouring
/// numbers.
struct Cpu {
  int id = 0;     // the operating system's number
  int core = 0;   // equal: threads of one core
  int numa = -1;  // the operating system's number of the nearest memory node; -1: unknown
  int l2 = -1;    // equal: one L2 cache; -1: none known
  int l3 = -1;    // equal: one L3 cache; -1: none known
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

struct HostInfo {
  /// CPUs that this container or job may use: first one thread of every core, along the machine, then every
  /// core's second thread, and so on.
  std::vector<Cpu> cpus;
  int installed_cpus = 0;     // all that the machine shows, allowed or not
  double cpu_quota = 0;       // CPUs' worth of time that the control groups allow; 0: no limit
  uint64_t memory_bytes = 0;  // the machine's, or the control groups' limit where that is less

  int cores() const;
  /// How many threads can run at once: the number of CPUs, or the quota rounded up where that is less.
  int concurrency() const;
  friend bool operator==(const HostInfo&, const HostInfo&) = default;
};

/// This host.
Result<HostInfo> detect_host();

/// A host from a file that hwloc's lstopo wrote, or from hwloc's synthetic notation ("numa:2 l3:1 core:8
/// pu:2"): other machines, for tests and for planning. Control groups do not count here.
Result<HostInfo> host_from_xml(const std::string& path);
Result<HostInfo> host_from_synthetic(const std::string& description);

/// One line of text and back.
std::string to_text(const HostInfo& host);
Result<HostInfo> host_from_text(std::string_view text);

/// The same host with only these of its CPUs (operating system's numbers), as when a launcher has bound the
/// process.
HostInfo restricted_to(const HostInfo& host, std::span<const int> cpu_ids);

/// The CPU of each of the host's ranks: consecutive ranks on neighbouring cores, spread over all cores. Where
/// ranks outnumber cores, each core gets a block of consecutive ranks, in turn over its threads. Empty where
/// the host has no CPU.
std::vector<int> place_ranks(const HostInfo& host, int local_ranks);

}  // namespace rondo
