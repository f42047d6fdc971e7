// SPDX-License-Identifier: Apache-2.0
// The memory nodes (NUMA) of a host as the kernel describes them, and how near they are to CPUs. Reads small
// files at each call; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace rondo {

/// The folder in which the kernel describes devices and memory nodes: /sys, or what SYSFS_PATH names instead.
std::string sysfs_folder();

/// How far a memory node is from the nearest of some CPUs, by the node's number. The kernel's distances:
/// kLocalMemory is the least, twice as much means twice the latency.
using MemoryDistances = std::map<int, uint16_t>;
constexpr uint16_t kLocalMemory = 10;

/// From these CPUs (operating system's numbers). Empty: `sysfs` shows no node that has one of them.
MemoryDistances memory_distances(std::span<const int> cpus, const std::string& sysfs = sysfs_folder());

/// From a memory node. Empty: there is no such node.
MemoryDistances memory_distances_of_node(int node, const std::string& sysfs = sysfs_folder());

/// The one node that is local to CPUs with these distances; -1: there are several or none.
int local_memory_node(const MemoryDistances& distances);

}  // namespace rondo
