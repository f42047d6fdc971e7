// Control groups: how much CPU time and memory a container allows. Reads small files at each call; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

struct CgroupLimits {
  double cpus = 0;            // CPUs' worth of time; 0: no limit
  uint64_t memory_bytes = 0;  // 0: no limit
  friend bool operator==(const CgroupLimits&, const CgroupLimits&) = default;
};

/// The tightest limits on the way from a process's group up to the root, for version 1 and version 2.
/// `groups` is the text of /proc/PID/cgroup, `root` where the file systems are mounted (/sys/fs/cgroup). What
/// cannot be read limits nothing: inside a container the paths of the host are often not there.
CgroupLimits cgroup_limits(std::string_view groups, const std::string& root);

/// Those of this process.
CgroupLimits own_cgroup_limits();

}  // namespace rondo
