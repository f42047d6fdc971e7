// SPDX-License-Identifier: Apache-2.0
// How far ports are from a rank's GPU and CPUs.
#include "verbs/rank_location.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "folder.h"
#include "topology/binding.h"

namespace rondo::test {
namespace {

using verbs::RankLocation;

constexpr const char* kGpu = "/sys/devices/pci0000:10/0000:10:00.0/0000:11:00.0/0000:12:00.0/0000:13:00.0";
constexpr const char* kUnderSwitch =
    "/sys/devices/pci0000:10/0000:10:00.0/0000:11:00.0/0000:12:01.0/0000:14:00.0";
constexpr const char* kOtherFunction =
    "/sys/devices/pci0000:10/0000:10:00.0/0000:11:00.0/0000:12:01.0/0000:14:00.1";
constexpr const char* kUnderRoot = "/sys/devices/pci0000:10/0000:10:01.0/0000:21:00.0";
constexpr const char* kElsewhere = "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0";
const MemoryDistances kNodes{{0, 10}, {1, 12}, {4, 32}};

uint16_t from_gpu(const char* folder, int node) {
  return verbs::port_distance({.memory = kNodes, .gpu = kGpu}, folder, node);
}

uint16_t from_cpus(int node) { return verbs::port_distance({.memory = kNodes, .gpu = ""}, kElsewhere, node); }

}  // namespace

TEST_CASE("a port is the nearer to a GPU the fewer bridges are only above the GPU") {
  CHECK(from_gpu(kUnderSwitch, 0) < from_gpu(kUnderRoot, 0));
  CHECK(from_gpu(kUnderSwitch, 0) == from_gpu(kOtherFunction, 0));
  CHECK(from_gpu(kUnderRoot, 4) < from_gpu(kElsewhere, 0));
  CHECK(from_gpu(kUnderRoot, -1) < from_gpu(kElsewhere, -1));
}

TEST_CASE("under other roots than a GPU's, ports of its memory node are nearer, then unknown ones") {
  CHECK(from_gpu(kElsewhere, 0) < from_gpu(kElsewhere, -1));
  CHECK(from_gpu(kElsewhere, -1) < from_gpu(kElsewhere, 1));
  CHECK(from_gpu(kElsewhere, 1) < from_gpu("/sys/devices/virtual/net", 4));
}

TEST_CASE("without a GPU, memory nodes decide") {
  CHECK(from_cpus(0) < from_cpus(-1));
  CHECK(from_cpus(-1) < from_cpus(1));
  CHECK(from_cpus(1) < from_cpus(4));
  CHECK(from_cpus(9) == from_cpus(-1));
}

TEST_CASE("all ports are equally far from a rank whose place is not known") {
  for (const int node : {-1, 0, 4}) CHECK(verbs::port_distance({}, kUnderSwitch, node) == 0);
}

TEST_CASE("a rank is where its GPU is, or else its CPUs") {
  const Folder folder;
  const auto cpu = bound_cpus().value().front();
  const auto write = [&folder](const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  };
  write("devices/system/node/node0/cpulist", std::to_string(cpu));
  write("devices/system/node/node1/cpulist", "");
  write("devices/pci0000:10/0000:10:00.0/numa_node", "1");
  write("devices/pci0000:10/0000:10:01.0/numa_node", "-1");
  std::filesystem::create_directories(folder / "bus/pci/devices");
  for (const std::string bus_id : {"0000:10:00.0", "0000:10:01.0"})
    std::filesystem::create_symlink("../../../devices/pci0000:10/" + bus_id,
                                    folder / ("bus/pci/devices/" + bus_id));
  ::setenv("SYSFS_PATH", folder.path().c_str(), 1);
  const RankLocation host = verbs::location_of_rank("");
  const RankLocation gpu = verbs::location_of_rank("0000:10:00.0");
  const RankLocation nowhere = verbs::location_of_rank("0000:10:01.0");
  const RankLocation hidden = verbs::location_of_rank("0000:77:00.0");
  ::unsetenv("SYSFS_PATH");
  CHECK(host.memory == MemoryDistances{{0, 10}, {1, 20}});
  CHECK(host.gpu.empty());
  CHECK(gpu.memory == MemoryDistances{{0, 20}, {1, 10}});
  CHECK(std::filesystem::equivalent(gpu.gpu, folder / "devices/pci0000:10/0000:10:00.0"));
  CHECK(nowhere.memory == host.memory);
  CHECK(nowhere.gpu.ends_with("0000:10:01.0"));
  CHECK(hidden.memory == host.memory);
  CHECK(hidden.gpu.empty());
}

}  // namespace rondo::test
