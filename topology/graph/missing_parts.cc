// SPDX-License-Identifier: Apache-2.0
#include "graph/missing_parts.h"

#include <map>

namespace rondo {
namespace {

struct Census {
  int gpus = 0;
  int gpus_of_no_generation = 0;           // so the speed of their links is not known
  std::map<std::string, int> without_gpu;  // PCI devices, by class
  std::map<std::string, int> without_port;
  int of_no_class = 0;
};

bool has_unknown_speed(const GpuInfo& gpu) {
  if (gpu.sm > 0 || !gpu.gfx.empty()) return false;
  for (const FabricLinks& links : gpu.links)
    if (links.link_MBps == 0) return true;
  return false;
}

void count(const std::vector<PciDevice>& devices, Census& census) {
  for (const PciDevice& device : devices) {
    const std::string cls = device.pci_class.substr(0, 6);
    if (device.gpu) {
      ++census.gpus;
      if (has_unknown_speed(*device.gpu)) ++census.gpus_of_no_generation;
    } else if (cls.starts_with("0x03") || cls.starts_with("0x12")) {
      ++census.without_gpu[cls];
    } else if (cls.starts_with("0x02") && device.ports.empty()) {
      ++census.without_port[cls];
    } else if (cls.empty() && device.ports.empty() && device.below.empty()) {
      ++census.of_no_class;
    }
    count(device.below, census);
  }
}

std::string devices(int count) { return fmt::format("{} PCI device{}", count, count == 1 ? "" : "s"); }

}  // namespace

std::vector<std::string> missing_parts(const Machine& machine) {
  Census census;
  for (const NumaNode& numa : machine.numa) count(numa.devices, census);
  std::vector<std::string> missing;
  for (const auto& [cls, count] : census.without_gpu)
    missing.push_back(fmt::format("{} of class {} without a GPU", devices(count), cls));
  for (const auto& [cls, count] : census.without_port)
    missing.push_back(fmt::format("{} of class {} without a network port", devices(count), cls));
  if (census.of_no_class > 0)
    missing.push_back(
        fmt::format("{} without a class, a GPU or a network port", devices(census.of_no_class)));
  if (census.gpus_of_no_generation > 0)
    missing.push_back(fmt::format("{} GPU{} with links but without a compute capability",
                                  census.gpus_of_no_generation,
                                  census.gpus_of_no_generation == 1 ? "" : "s"));
  if (census.gpus == 0 && missing.empty()) missing.push_back("no GPUs");
  return missing;
}

}  // namespace rondo
