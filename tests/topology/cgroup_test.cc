// SPDX-License-Identifier: Apache-2.0
// Limits of control groups, read from folders made up here.
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "folder.h"
#include "topology/cgroup.h"

using namespace rondo;
namespace fs = std::filesystem;

namespace {

/// A fake /sys/fs/cgroup.
class Groups : public test::Folder {
 public:
  void write(const std::string& path, const std::string& text) const {
    const fs::path file = *this / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
};

}  // namespace

TEST_CASE("no group, or groups without limits, limit nothing") {
  const Groups folder;
  CHECK(cgroup_limits("", folder.path()) == CgroupLimits{});
  folder.write("job/cpu.max", "max 100000");
  folder.write("job/memory.max", "max");
  CHECK(cgroup_limits("0::/job\n", folder.path()) == CgroupLimits{});
  folder.write("cpu/job/cpu.cfs_quota_us", "-1");
  folder.write("cpu/job/cpu.cfs_period_us", "100000");
  folder.write("memory/job/memory.limit_in_bytes", "9223372036854771712");
  CHECK(cgroup_limits("4:cpu,cpuacct:/job\n5:memory:/job\n", folder.path()) == CgroupLimits{});
}

TEST_CASE("version 2: the tightest limit among the ancestors counts") {
  const Groups folder;
  folder.write("a/b/cpu.max", "400000 100000");
  folder.write("a/cpu.max", "150000 100000");
  folder.write("a/b/memory.max", "1048576");
  folder.write("a/memory.max", "2097152");
  const CgroupLimits limits = cgroup_limits("0::/a/b\n", folder.path());
  CHECK(limits.cpus == 1.5);
  CHECK(limits.memory_bytes == 1048576);
}

TEST_CASE("version 2 in a container: the mount's own files count if the path is the host's") {
  const Groups folder;
  folder.write("cpu.max", "200000 100000");
  CHECK(cgroup_limits("0::/docker/0123\n", folder.path()).cpus == 2);
  CHECK(cgroup_limits("0::/\n", folder.path()).cpus == 2);
}

TEST_CASE("version 1: CPU and memory have separate folders") {
  const Groups folder;
  folder.write("cpu/job/cpu.cfs_quota_us", "50000");
  folder.write("cpu/job/cpu.cfs_period_us", "100000");
  folder.write("memory/job/memory.limit_in_bytes", "1073741824");
  const CgroupLimits limits =
      cgroup_limits("2:cpuset:/job\n4:cpu,cpuacct:/job\n5:memory:/job\n", folder.path());
  CHECK(limits.cpus == 0.5);
  CHECK(limits.memory_bytes == 1073741824);
}
