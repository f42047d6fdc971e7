// SPDX-License-Identifier: Apache-2.0
#include "topology/cgroup.h"

#include <algorithm>
#include <sstream>

#include "base/file_contents.h"

namespace rondo {
namespace {

template <typename T>
void tighten(T& limit, T found) {
  if (found > 0 && (limit == 0 || found < limit)) limit = found;
}

/// The number in a file; 0 if the file is missing or contains a word such as "max".
double number_in(const std::string& path) {
  double value = 0;
  std::istringstream(file_contents(path)) >> value;
  return value;
}

/// Version 2's cpu.max contains "quota period" or "max period".
double cpus_of_v2(const std::string& folder) {
  double quota = 0;
  double period = 0;
  std::istringstream(file_contents(folder + "/cpu.max")) >> quota >> period;
  return quota > 0 && period > 0 ? quota / period : 0;
}

double cpus_of_v1(const std::string& folder) {
  const double quota = number_in(folder + "/cpu.cfs_quota_us");
  const double period = number_in(folder + "/cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota / period : 0;
}

uint64_t memory_in(const std::string& path) {
  constexpr double kUnlimited = 1e18;  // version 1 writes nearly 2^63 for no limit
  const double bytes = number_in(path);
  return bytes > 0 && bytes < kUnlimited ? static_cast<uint64_t>(bytes) : 0;
}

/// Calls visit(folder) for the group's folder and each of its parents, up to the root of the mount.
template <typename Visit>
void climb(const std::string& mount, std::string group, Visit visit) {
  while (true) {
    visit(mount + group);
    const size_t slash = group.find_last_of('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

bool lists(const std::string& controllers, const std::string& wanted) {
  return ("," + controllers + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

CgroupLimits cgroup_limits(std::string_view groups, const std::string& root) {
  CgroupLimits limits;
  std::istringstream lines{std::string(groups)};
  // Each line is "number:controllers:path"; version 2 has no controllers.
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers.empty()) {
      climb(root, path, [&](const std::string& folder) {
        tighten(limits.cpus, cpus_of_v2(folder));
        tighten(limits.memory_bytes, memory_in(folder + "/memory.max"));
      });
    }
    if (lists(controllers, "cpu")) {
      climb(root + "/cpu", path,
            [&](const std::string& folder) { tighten(limits.cpus, cpus_of_v1(folder)); });
    }
    if (lists(controllers, "memory")) {
      climb(root + "/memory", path, [&](const std::string& folder) {
        tighten(limits.memory_bytes, memory_in(folder + "/memory.limit_in_bytes"));
      });
    }
  }
  return limits;
}

CgroupLimits own_cgroup_limits() {
  return cgroup_limits(file_contents("/proc/self/cgroup"), "/sys/fs/cgroup");
}

}  // namespace rondo
