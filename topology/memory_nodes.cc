// SPDX-License-Identifier: Apache-2.0
#include "topology/memory_nodes.h"

#include <dirent.h>
#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <sstream>

#include "base/file_contents.h"
#include "base/settings.h"

namespace rondo {
namespace {

constexpr std::string_view kNode = "node";
constexpr const char* kNodes = "/devices/system/node";
constexpr uint16_t kRemoteMemory = 2 * kLocalMemory;  // as the kernel reports it if firmware does not say
constexpr int kMaxDistance = 254;                     // 255: the node cannot be reached

/// 3 of "node3"; -1: another name.
int number_of_node(std::string_view name) {
  int number = -1;
  if (name.starts_with(kNode)) std::from_chars(name.data() + kNode.size(), name.data() + name.size(), number);
  return name == fmt::format("{}{}", kNode, number) ? number : -1;
}

/// Not by std::filesystem, in which a failed allocation ends the process.
std::set<int> node_numbers(const std::string& folder) {
  std::set<int> numbers;
  const auto close = [](DIR* opened) { ::closedir(opened); };
  const std::unique_ptr<DIR, decltype(close)> nodes(::opendir(folder.c_str()), close);
  while (const dirent* const entry = nodes != nullptr ? ::readdir(nodes.get()) : nullptr)
    if (const int number = number_of_node(entry->d_name); number >= 0) numbers.insert(number);
  return numbers;
}

/// `text`: "0-3,8" and the end of the line; nothing but that for a node without CPUs.
bool has_one_of(std::span<const int> cpus, const std::string& text) {
  std::string list;
  std::istringstream(text) >> list;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> own(hwloc_bitmap_alloc(),
                                                                          hwloc_bitmap_free);
  if (hwloc_bitmap_list_sscanf(own.get(), list.c_str()) != 0) return false;
  return std::any_of(cpus.begin(), cpus.end(), [&own](int cpu) {
    return hwloc_bitmap_isset(own.get(), static_cast<unsigned>(cpu)) != 0;
  });
}

std::string file_of_node(const std::string& folder, int node, const char* name) {
  return fmt::format("{}/{}{}/{}", folder, kNode, node, name);
}

/// From a node to all, in the order of their numbers; the kernel leaves out those that are offline.
MemoryDistances distances_from(int from, const std::set<int>& nodes, const std::string& folder) {
  std::istringstream words(file_contents(file_of_node(folder, from, "distance")));
  MemoryDistances distances;
  for (const int node : nodes) {
    int distance = 0;
    const bool is_known = words >> distance && distance >= kLocalMemory && distance <= kMaxDistance;
    const uint16_t usual = node == from ? kLocalMemory : kRemoteMemory;
    distances[node] = is_known ? static_cast<uint16_t>(distance) : usual;
  }
  return distances;
}

}  // namespace

std::string sysfs_folder() { return setting(Setting::SysfsPath).value_or("/sys"); }

MemoryDistances memory_distances(std::span<const int> cpus, const std::string& sysfs) {
  const std::string folder = sysfs + kNodes;
  const std::set<int> nodes = node_numbers(folder);
  MemoryDistances nearest;
  for (const int node : nodes) {
    if (!has_one_of(cpus, file_contents(file_of_node(folder, node, "cpulist")))) continue;
    for (const auto& [other, distance] : distances_from(node, nodes, folder))
      nearest[other] = std::min(nearest.try_emplace(other, distance).first->second, distance);
  }
  return nearest;
}

MemoryDistances memory_distances_of_node(int node, const std::string& sysfs) {
  const std::string folder = sysfs + kNodes;
  const std::set<int> nodes = node_numbers(folder);
  return nodes.contains(node) ? distances_from(node, nodes, folder) : MemoryDistances();
}

int local_memory_node(const MemoryDistances& distances) {
  const auto is_local = [](const auto& entry) { return entry.second == kLocalMemory; };
  const auto local = std::find_if(distances.begin(), distances.end(), is_local);
  return std::count_if(distances.begin(), distances.end(), is_local) == 1 ? local->first : -1;
}

}  // namespace rondo
