// SPDX-License-Identifier: Apache-2.0
#include "amd_gpus.h"

#include <algorithm>
#include <initializer_list>
#include <map>

namespace rondo {
namespace {

constexpr const char* kKfdNodes = "class/kfd/kfd/topology/nodes";
constexpr int64_t kXgmiLink = 11;  // type of a link
constexpr int kMaxXgmiLinks = 64;

// How the kernel (drivers/gpu/drm/amd/amdkfd/kfd_crat.c) weighs a link that leads to another GPU without one
// in between: 15 a hop, and 41 from a part of a GPU to one of another.
constexpr std::initializer_list<int64_t> kDirectWeights = {15, 41};

/// A GPU, or a part that it is divided into.
struct KfdGpu {
  std::string node;
  std::string bus_id;
  std::string gfx;  // "gfx90a"
  int compute_units = 0;
};

int64_t value_of(const std::map<std::string, int64_t>& properties, const char* name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

/// Bus, device and function are 16 bits; above them is the number of a part.
std::string bus_id_of(const std::map<std::string, int64_t>& properties) {
  const int64_t location = value_of(properties, "location_id");
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", value_of(properties, "domain") & 0xffffffff,
                     location >> 8 & 0xff, location >> 3 & 0x1f, location & 0x7);
}

/// "gfx90a" of 90010: two decimal digits each for minor number and stepping.
std::string gfx_of(int64_t version) {
  return fmt::format("gfx{}{}{:x}", version / 10'000, version / 100 % 100, version % 100);
}

class AmdFinder {
 public:
  AmdFinder(Sysfs& sysfs, PciTree& tree) : sysfs_(sysfs), tree_(tree) {}

  void add(int first_dev) {
    if (sysfs_.names(kKfdNodes).empty()) return add_pci_devices();
    read_nodes();
    for (const KfdGpu& gpu : gpus_) {
      PciDevice& device = tree_.add_gpu(pci_path_of_function(sysfs_, gpu.bus_id), gpu.bus_id);
      if (device.gpu) continue;
      device.gpu =
          GpuInfo{.dev = first_dev++, .sm = gpu.compute_units, .gfx = gpu.gfx, .links = links_of(gpu)};
    }
  }

 private:
  void read_nodes() {
    for (const std::string& node : sysfs_.names(kKfdNodes)) {
      const auto properties = sysfs_.table(fmt::format("{}/{}/properties", kKfdNodes, node));
      const int64_t simds = value_of(properties, "simd_count");
      const int64_t version = value_of(properties, "gfx_target_version");
      if (simds <= 0 || version <= 0) continue;  // a CPU
      const int64_t units = simds / std::max<int64_t>(value_of(properties, "simd_per_cu"), 1);
      gpus_.push_back(
          {node, bus_id_of(properties), gfx_of(version), static_cast<int>(std::min<int64_t>(units, kMaxSm))});
    }
  }

  void add_pci_devices() {
    for (const std::string& bus_id : gpu_functions(sysfs_, kAmdVendor)) {
      const PciPath path = pci_path_of_function(sysfs_, bus_id);
      if (!path.bus_ids.empty()) tree_.add(path);
    }
  }

  std::vector<FabricLinks> links_of(const KfdGpu& gpu) {
    std::vector<FabricLinks> result;
    const std::string folder = fmt::format("{}/{}/io_links", kKfdNodes, gpu.node);
    for (const std::string& link : sysfs_.names(folder)) {
      const auto properties = sysfs_.table(fmt::format("{}/{}/properties", folder, link));
      const bool is_direct =
          std::ranges::find(kDirectWeights, value_of(properties, "weight")) != std::end(kDirectWeights);
      const auto target =
          std::ranges::find(gpus_, std::to_string(value_of(properties, "node_to")), &KfdGpu::node);
      if (value_of(properties, "type") != kXgmiLink || !is_direct || target == gpus_.end()) continue;
      // A divided GPU has a link to each part of another, all of them over the same wires.
      if (target->bus_id == gpu.bus_id ||
          std::ranges::find(result, target->bus_id, &FabricLinks::target_bus_id) != result.end())
        continue;
      result.push_back({.kind = FabricKind::Xgmi,
                        .target_bus_id = target->bus_id,
                        .target_class = sysfs_.text(pci_function(target->bus_id) + "/class"),
                        .count = parallel_links(properties)});
    }
    return result;
  }

  /// The least bandwidth is that of one link, the greatest that of all.
  static int parallel_links(const std::map<std::string, int64_t>& properties) {
    const int64_t one = value_of(properties, "min_bandwidth"), all = value_of(properties, "max_bandwidth");
    return one > 0 ? static_cast<int>(std::clamp<int64_t>(all / one, 1, kMaxXgmiLinks)) : 1;
  }

  Sysfs& sysfs_;
  PciTree& tree_;
  std::vector<KfdGpu> gpus_;
};

}  // namespace

void add_amd_gpus(Sysfs& sysfs, PciTree& tree, int first_dev) { AmdFinder(sysfs, tree).add(first_dev); }

}  // namespace rondo
