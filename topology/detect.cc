// SPDX-License-Identifier: Apache-2.0
// Reads a machine through hwloc.
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <type_traits>

#include "base/error_kinds.h"
#include "topology/cgroup.h"
#include "topology/host.h"

namespace rondo {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

/// An empty topology that will load only what HostInfo needs: skipping devices saves most of the time.
Result<Topology> make_topology() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return system_error("hwloc_topology_init", errno);
  hwloc_topology_set_all_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_CORE})
    hwloc_topology_set_type_filter(made, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  return Topology(made);
}

/// The number of the CPU's ancestor of this type, or -1.
int number_above(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t cpu) {
  hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, cpu);
  return above == nullptr ? -1 : static_cast<int>(above->logical_index);
}

int memory_node(hwloc_topology_t topology, hwloc_obj_t cpu) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr)
    if (hwloc_bitmap_isset(node->cpuset, cpu->os_index)) return static_cast<int>(node->os_index);
  return -1;
}

Cpu describe(hwloc_topology_t topology, hwloc_obj_t pu) {
  Cpu cpu;
  cpu.id = static_cast<int>(pu->os_index);
  cpu.core = number_above(topology, HWLOC_OBJ_CORE, pu);
  if (cpu.core < 0) cpu.core = static_cast<int>(pu->logical_index);  // no cores known: each CPU is one
  cpu.numa = memory_node(topology, pu);
  cpu.l2 = number_above(topology, HWLOC_OBJ_L2CACHE, pu);
  cpu.l3 = number_above(topology, HWLOC_OBJ_L3CACHE, pu);
  return cpu;
}

/// The number of CPUs of the same core before this one.
size_t turn_of(const std::vector<Cpu>& cpus, size_t index) {
  size_t before = 0;
  while (before < index && cpus[index - before - 1].core == cpus[index].core) ++before;
  return before;
}

HostInfo describe(hwloc_topology_t topology) {
  std::vector<Cpu> along;  // threads of a core are adjacent in hwloc's order
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr)
    along.push_back(describe(topology, pu));
  std::vector<std::pair<size_t, Cpu>> by_turn;
  for (size_t i = 0; i < along.size(); ++i) by_turn.emplace_back(turn_of(along, i), along[i]);
  std::stable_sort(by_turn.begin(), by_turn.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  HostInfo host;
  for (const auto& [turn, cpu] : by_turn) host.cpus.push_back(cpu);
  const int installed = hwloc_bitmap_weight(hwloc_topology_get_complete_cpuset(topology));
  host.installed_cpus = std::max(installed, static_cast<int>(host.cpus.size()));
  host.memory_bytes = hwloc_get_root_obj(topology)->total_memory;
  return host;
}

/// Loads and describes; `what` names the topology in errors.
Result<HostInfo> load(const Topology& topology, const std::string& what) {
  if (hwloc_topology_load(topology.get()) != 0) return system_error(what + ": hwloc cannot load it", errno);
  HostInfo host = describe(topology.get());
  if (host.cpus.empty()) return error(Code::SystemError, "{}: hwloc finds no CPU that may be used", what);
  return host;
}

/// The kernel's total; hwloc's figure lacks memory that was added while the kernel was running.
uint64_t physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) : 0;
}

}  // namespace

Result<HostInfo> detect_host() {
  RONDO_TRY_ASSIGN(const Topology topology, make_topology());
  RONDO_TRY_ASSIGN(HostInfo host, load(topology, "this host"));
  host.memory_bytes = std::max(host.memory_bytes, physical_memory_bytes());
  const CgroupLimits limits = own_cgroup_limits();
  host.cpu_quota = limits.cpus;
  if (limits.memory_bytes > 0) host.memory_bytes = std::min(host.memory_bytes, limits.memory_bytes);
  return host;
}

Result<HostInfo> host_from_xml(const std::string& path) {
  RONDO_TRY_ASSIGN(const Topology topology, make_topology());
  if (hwloc_topology_set_xml(topology.get(), path.c_str()) != 0)
    return system_error(path + ": hwloc cannot read it as XML", errno, ErrorKind::FileUnreadable);
  return load(topology, path);
}

Result<HostInfo> host_from_synthetic(const std::string& description) {
  RONDO_TRY_ASSIGN(const Topology topology, make_topology());
  if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0)
    return error(Code::InvalidArgument,
                 "'{}' is not a synthetic topology in hwloc's notation, for example "
                 "'numa:2 l3:1 core:8 pu:2'",
                 description);
  return load(topology, "'" + description + "'");
}

}  // namespace rondo
