// SPDX-License-Identifier: Apache-2.0
// What hwloc reports about this host and others.
#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "catch.h"
#include "topology/binding.h"
#include "topology/cache.h"
#include "topology/host.h"

using namespace rondo;

namespace {

/// Invariants of every machine.
void check_sound(const HostInfo& host) {
  REQUIRE_FALSE(host.cpus.empty());
  std::set<int> ids;
  for (const Cpu& cpu : host.cpus) {
    CHECK(cpu.id >= 0);
    CHECK(cpu.core >= 0);
    ids.insert(cpu.id);
  }
  CHECK(ids.size() == host.cpus.size());
  CHECK(host.installed_cpus >= static_cast<int>(host.cpus.size()));
  for (const Cpu& a : host.cpus)
    for (const Cpu& b : host.cpus)
      if (a.core == b.core) CHECK((a.l2 == b.l2 && a.l3 == b.l3 && a.numa == b.numa));
}

/// hwloc before 3.0 may not be able to read files written by 3.0.
bool too_new_for_this_hwloc(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return hwloc_get_api_version() < 0x30000 && text.find("<topology version=\"3.") != std::string::npos;
}

}  // namespace

TEST_CASE("the second and the last level cache agree with hwloc, if the kernel reports them") {
  hwloc_topology_t topology = nullptr;
  REQUIRE(hwloc_topology_init(&topology) == 0);
  REQUIRE(hwloc_topology_load(topology) == 0);
  hwloc_obj_t above = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0);
  size_t most = 0;
  size_t second = 0;
  for (; above != nullptr; above = above->parent) {
    if (!hwloc_obj_type_is_dcache(above->type)) continue;
    most = std::max<size_t>(most, above->attr->cache.size);
    if (above->type == HWLOC_OBJ_L2CACHE) second = above->attr->cache.size;
  }
  if (const size_t bytes = last_level_cache_bytes(); bytes != 0) CHECK(bytes == most);
  if (const size_t bytes = core_cache_bytes(); bytes != 0) CHECK(bytes == second);
  hwloc_topology_destroy(topology);
}

TEST_CASE("CPUs share a last level cache as hwloc reports, if the kernel reports it") {
  const auto host = detect_host();
  REQUIRE(host.ok());
  const auto& cpus = host.value().cpus;
  CHECK(shared_last_level_cache({}) == -1);
  CHECK(shared_last_level_cache(std::array{1 << 20}) == -1);
  if (shared_last_level_cache(std::array{cpus[0].id}) < 0 || cpus[0].l3 < 0) {
    WARN("skipped: nothing here says which CPUs share a cache of the third level");
    return;
  }
  for (const Cpu& cpu : cpus) {
    CHECK(shared_last_level_cache(std::array{cpu.id}) >= 0);
    CHECK((shared_last_level_cache(std::array{cpus[0].id, cpu.id}) >= 0) == (cpu.l3 == cpus[0].l3));
  }
}

TEST_CASE("this host has the CPUs that this thread may run on, and memory") {
  const auto host = detect_host();
  REQUIRE(host.status().message() == "");
  check_sound(host.value());
  CHECK(host.value().memory_bytes > 0);
  CHECK(host.value().concurrency() >= 1);
  const auto bound = bound_cpus();
  REQUIRE(bound.ok());
  std::set<int> known;
  for (const Cpu& cpu : host.value().cpus) known.insert(cpu.id);
  for (int cpu : bound.value()) CHECK(known.contains(cpu));
}

TEST_CASE("a synthetic machine is read level by level") {
  const auto host = host_from_synthetic("numa:2 l3:1 l2:4 core:2 pu:2");
  REQUIRE(host.status().message() == "");
  check_sound(host.value());
  CHECK(host.value().cpus.size() == 32);
  CHECK(host.value().cores() == 16);
  std::set<int> nodes, l3s, l2s;
  for (const Cpu& cpu : host.value().cpus) {
    nodes.insert(cpu.numa);
    l3s.insert(cpu.l3);
    l2s.insert(cpu.l2);
  }
  CHECK(nodes == std::set<int>{0, 1});
  CHECK(l3s.size() == 2);
  CHECK(l2s.size() == 8);
}

TEST_CASE("a machine that cannot be loaded is an error that names it") {
  CHECK(host_from_synthetic("cores:many").status().message().find("cores:many") != std::string::npos);
  CHECK(host_from_xml("/nowhere/host.xml").status().message().find("/nowhere/host.xml") != std::string::npos);
}

TEST_CASE("recorded machines load") {
  struct Recorded {
    const char* file;
    size_t cpus;
    int cores;
    size_t nodes;  // that have CPUs
  };
  const Recorded recorded[] = {
      {"hwloc-2gpu-1ib-westmere.xml", 32, 16, 2},
      {"hwloc-aws-g4dnmetal-8xt4.xml", 96, 48, 2},
      {"hwloc-llnl-lassen-4xv100-p9.xml", 160, 40, 2},
      {"hwloc-nvidia-dgx2-16xv100.xml", 4, 4, 2},
  };
  const char* data = std::getenv("RONDO_TEST_DATA");
  if (data == nullptr) {
    WARN(
        "skipped: the 4 recorded machines, since RONDO_TEST_DATA does not name a folder with "
        "topologies/hwloc");
    return;
  }
  for (const Recorded& one : recorded) {
    CAPTURE(one.file);
    const auto path = std::filesystem::path(data) / "topologies" / "hwloc" / one.file;
    REQUIRE(std::filesystem::exists(path));
    const auto host = host_from_xml(path.string());
    if (!host.ok() && too_new_for_this_hwloc(path)) {
      WARN("skipped: " << one.file << " is of hwloc 3, which the hwloc here cannot read");
      continue;
    }
    REQUIRE(host.status().message() == "");
    check_sound(host.value());
    CHECK(host.value().cpus.size() == one.cpus);
    CHECK(host.value().cores() == one.cores);
    std::set<int> nodes;
    for (const Cpu& cpu : host.value().cpus) nodes.insert(cpu.numa);
    CHECK(nodes.size() == one.nodes);
    const auto placed = place_ranks(host.value(), one.cores);
    CHECK(std::set<int>(placed.begin(), placed.end()).size() == static_cast<size_t>(one.cores));
  }
}
