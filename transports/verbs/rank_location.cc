// SPDX-License-Identifier: Apache-2.0
#include "verbs/rank_location.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "base/file_contents.h"
#include "topology/binding.h"

namespace rondo::verbs {
namespace {

constexpr uint16_t kUnknownMemory = kLocalMemory + 1;
constexpr uint16_t kNoBridge = 1000;  // more than there are PCI functions above one another

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end != 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

/// How many PCI functions above the GPU, itself included, do not have the port below them. kNoBridge: it is
/// below another root of the host.
uint16_t steps_from_gpu(std::string_view gpu, std::string_view port) {
  const auto of_gpu = parts_of(gpu);
  const auto of_port = parts_of(port);
  const auto common = std::mismatch(of_gpu.begin(), of_gpu.end(), of_port.begin(), of_port.end()).first;
  const bool share_root =
      std::any_of(of_gpu.begin(), common, [](auto part) { return part.starts_with("pci"); });
  return share_root ? static_cast<uint16_t>(std::distance(common, of_gpu.end())) : kNoBridge;
}

uint16_t memory_distance(const MemoryDistances& distances, int node) {
  if (distances.empty()) return 0;
  const auto found = distances.find(node);
  return found != distances.end() ? found->second : kUnknownMemory;
}

}  // namespace

RankLocation location_of_rank(const std::string& gpu_bus_id) {
  RankLocation place;
  if (!gpu_bus_id.empty()) place.gpu = device_folder(sysfs_folder() + "/bus/pci/devices/" + gpu_bus_id);
  if (!place.gpu.empty()) place.memory = memory_distances_of_node(memory_node_of(place.gpu));
  if (!place.memory.empty()) return place;
  if (const auto cpus = bound_cpus(); cpus.ok()) place.memory = memory_distances(cpus.value());
  return place;
}

std::string device_folder(const std::string& link) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(link.c_str(), nullptr), std::free);
  return real != nullptr ? real.get() : std::string();
}

int16_t memory_node_of(const std::string& folder) {
  const std::string text = file_contents(folder + "/numa_node");
  char* end = nullptr;
  const long node = std::strtol(text.c_str(), &end, 10);
  return static_cast<int16_t>(end == text.c_str() ? -1 : std::clamp(node, -1L, 32'767L));
}

uint16_t port_distance(const RankLocation& place, const std::string& folder, int memory_node) {
  const uint16_t memory = memory_distance(place.memory, memory_node);
  if (place.gpu.empty()) return memory;
  const uint16_t steps = steps_from_gpu(place.gpu, folder);
  return steps < kNoBridge ? steps : static_cast<uint16_t>(kNoBridge + memory);
}

bool is_below_gpus_root(uint16_t distance) { return distance < kNoBridge; }

}  // namespace rondo::verbs
