// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/file_contents.h"
#include "graph/cpu_list.h"
#include "host_parts.h"
#include "topology/cgroup.h"

namespace rondo {
namespace {

/// What follows a word at the start of a line; empty: there is no such line.
std::string line_after(const std::string& text, std::string_view word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(word)) return line.substr(word.size());
  return "";
}

/// Whether the limit of locked memory does not hold: CapEff in /proc/self/status is a hexadecimal mask.
bool may_lock_all(const std::string& status) {
  constexpr uint64_t kIpcLock = 1 << 14;  // CAP_IPC_LOCK
  uint64_t capabilities = 0;
  std::istringstream(line_after(status, "CapEff:")) >> std::hex >> capabilities;
  return (capabilities & kIpcLock) != 0;
}

/// InfiniBand verbs lock the memory that they transfer.
void find_memlock(HostParts& host, const std::string& status, Faults& faults) {
  if (may_lock_all(status) || !host.sys || host.sys->names("class/infiniband").empty()) return;
  uint64_t bytes = 0;
  std::istringstream soft(line_after(file_contents(host.root + "/proc/self/limits"), "Max locked memory"));
  if (!(soft >> bytes)) return;  // "unlimited"
  faults.push_back(
      {fmt::format("this process may lock {} KiB of memory, and InfiniBand needs all that it transfers",
                   bytes / 1024),
       "ulimit -l unlimited; for services LimitMEMLOCK=infinity, for containers --ulimit memlock=-1",
       {}});
}

void find_cpu_time(const std::string& root, size_t allowed, Faults& faults) {
  const CgroupLimits limits =
      cgroup_limits(file_contents(root + "/proc/self/cgroup"), root + "/sys/fs/cgroup");
  if (limits.cpus <= 0 || limits.cpus >= static_cast<double>(allowed)) return;
  faults.push_back(
      {fmt::format("the control group allows the time of {:.1f} of {}: beyond it, all threads stop until "
                   "the next period",
                   limits.cpus, counted(allowed, "CPU")),
       "raise the limit (docker --cpus, Kubernetes limits.cpu), or bind to as many CPUs as it allows",
       {}});
}

void find_far_cpus(HostParts& host, const std::set<int>& allowed, const std::string& list, Faults& faults) {
  std::vector<std::string> far;
  for (const SysPciDevice& device : host.devices) {
    if (!device.is_gpu) continue;
    const std::string local = host.sys->line(device.folder + "/local_cpulist");
    const std::set<int> near = cpu_list(local).value_or(std::set<int>());
    if (!near.empty() && std::ranges::none_of(near, [&](int cpu) { return allowed.contains(cpu); }))
      far.push_back(device.bus_id);
  }
  if (far.empty()) return;
  faults.push_back({fmt::format("none of the CPUs that this process may use ({}) is near {}: {}", list,
                                counted(far.size(), "GPU"), listed(far)),
                    "let the process use CPUs of that NUMA node: cpuset of the container, taskset, numactl",
                    {}});
}

}  // namespace

void find_process_faults(HostParts& host, Faults& faults) {
  const std::string status = file_contents(host.root + "/proc/self/status");
  find_memlock(host, status, faults);
  std::string list;
  std::istringstream(line_after(status, "Cpus_allowed_list:")) >> list;
  const std::set<int> allowed = cpu_list(list).value_or(std::set<int>());
  if (allowed.empty()) return;
  find_cpu_time(host.root, allowed.size(), faults);
  find_far_cpus(host, allowed, list, faults);
}

}  // namespace rondo
