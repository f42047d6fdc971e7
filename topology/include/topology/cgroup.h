// SPDX-License-Identifier: Apache-2.0
// Control groups: a container's limits on CPU time and memory. Reads small files at each call; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

struct CgroupLimits {
  double cpus = 0;            // CPU time, as a number of CPUs; 0: no limit
  uint64_t memory_bytes = 0;  // 0: no limit
  friend bool operator==(const CgroupLimits&, const CgroupLimits&) = default;
};

/// The tightest limits from a process's group up to the root, for version 1 and version 2. `groups` is the
/// text of /proc/PID/cgroup, `root` the mount point of the file systems (/sys/fs/cgroup). Files that cannot
/// be read impose no limit: inside a container the host's paths often do not exist.
CgroupLimits cgroup_limits(std::string_view groups, const std::string& root);

/// The limits of this process.
CgroupLimits own_cgroup_limits();

}  // namespace rondo
