// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "host_parts.h"

namespace rondo {
namespace {

constexpr const char* kBridge = "0x0604";

/// The configuration space of a device, as PCI Express Base Specification 6.0, section 7, lays it out.
/// Without privileges the kernel shows the first 64 bytes.
class ConfigSpace {
 public:
  explicit ConfigSpace(std::string bytes) : bytes_(std::move(bytes)) {}

  /// Bridges of conventional PCI have nothing beyond.
  bool is_whole() const { return bytes_.size() >= kExtended; }

  bool is_downstream_port() const {
    const auto capability = find(kPcieCapability);
    return capability && (number(*capability + 2, 2) >> 4 & 0xf) == kDownstreamPort;
  }

  /// Whether ACS sends requests or completions for peers up to the CPU.
  bool redirects() const {
    const auto acs = find_extended(kAcs);
    return acs && (number(*acs + 6, 2) & (kRequestRedirect | kCompletionRedirect)) != 0;
  }

 private:
  static constexpr size_t kExtended = 0x100;
  static constexpr size_t kFirstPointer = 0x34;
  static constexpr uint32_t kPcieCapability = 0x10, kDownstreamPort = 6;
  static constexpr uint32_t kAcs = 0x0d, kRequestRedirect = 1 << 2, kCompletionRedirect = 1 << 3;
  static constexpr int kMaxCapabilities = 960;  // that fit: a list that is longer runs in a circle

  /// Little-endian; 0 beyond the end.
  uint32_t number(size_t at, size_t bytes) const {
    uint32_t value = 0;
    for (size_t i = 0; i != bytes && at + i < bytes_.size(); ++i)
      value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes_[at + i])) << (8 * i);
    return value;
  }

  std::optional<size_t> find(uint32_t id) const {
    size_t at = number(kFirstPointer, 1);
    for (int i = 0; at != 0 && i != kMaxCapabilities; ++i, at = number(at + 1, 1))
      if (number(at, 1) == id) return at;
    return std::nullopt;
  }

  std::optional<size_t> find_extended(uint32_t id) const {
    size_t at = kExtended;
    for (int i = 0; at >= kExtended && i != kMaxCapabilities; ++i, at = number(at, 4) >> 20)
      if ((number(at, 4) & 0xffff) == id) return at;
    return std::nullopt;
  }

  std::string bytes_;
};

/// Bridges below another PCI function that lead to GPUs. Root ports are not below any: between them the CPU
/// is on the way in any case.
std::vector<SysPciDevice> inner_bridges_above_gpus(const std::vector<SysPciDevice>& devices) {
  std::set<std::string> folders;
  for (const SysPciDevice& device : devices) folders.insert(device.folder);
  std::vector<SysPciDevice> bridges;
  for (const SysPciDevice& bridge : devices) {
    if (!bridge.pci_class.starts_with(kBridge)) continue;
    if (!folders.contains(bridge.folder.substr(0, bridge.folder.rfind('/')))) continue;
    const std::string below = bridge.folder + "/";
    if (std::ranges::any_of(devices, [&](const SysPciDevice& device) {
          return device.is_gpu && device.folder.starts_with(below);
        }))
      bridges.push_back(bridge);
  }
  return bridges;
}

void find_acs(HostParts& host, Faults& faults) {
  std::vector<std::string> redirecting, unknown;
  for (const SysPciDevice& bridge : inner_bridges_above_gpus(host.devices)) {
    const ConfigSpace config(host.sys->contents(bridge.folder + "/config"));
    if (!config.is_whole())
      unknown.push_back(bridge.bus_id);
    else if (config.is_downstream_port() && config.redirects())
      redirecting.push_back(bridge.bus_id);
  }
  if (!redirecting.empty())
    faults.push_back(
        {fmt::format("ACS sends what GPUs below one PCI switch exchange up to the CPU, at {}: {}",
                     counted(redirecting.size(), "port"), listed(redirecting)),
         "outside of virtual machines, switch ACS off in the firmware, or until the next boot by setpci "
         "-s PORT ECAP_ACS+6.w=0000",
         {}});
  if (!unknown.empty())
    faults.push_back(
        {fmt::format("whether ACS redirects what GPUs exchange is not known: the configuration of {} "
                     "above GPUs cannot be read: {}",
                     counted(unknown.size(), "bridge"), listed(unknown)),
         "run rondo-topo --doctor as root",
         {}});
}

void find_iommu(HostParts& host, Faults& faults) {
  std::vector<std::string> translated;
  for (const SysPciDevice& device : host.devices)
    if (device.is_gpu && host.sys->line(device.folder + "/iommu_group/type").starts_with("DMA"))
      translated.push_back(device.bus_id);
  if (translated.empty()) return;
  faults.push_back(
      {fmt::format("the IOMMU translates addresses of {}: {}", counted(translated.size(), "GPU"),
                   listed(translated)),
       "boot with iommu=pt (and amd_iommu=on or intel_iommu=on), or without IOMMU, unless virtual "
       "machines need it",
       {}});
}

}  // namespace

void find_host_pci_faults(HostParts& host, Faults& faults) {
  find_acs(host, faults);
  find_iommu(host, faults);
}

}  // namespace rondo
