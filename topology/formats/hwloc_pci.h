// SPDX-License-Identifier: Apache-2.0
// The PCI devices of hwloc's XML with their OS devices: GPUs and network ports, and the bridges above them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hwloc_objects.h"

namespace rondo {

class HwlocPci {
 public:
  /// `version` is that of the format, 2 or 3: they number the types of OS devices in other ways.
  HwlocPci(const XmlDocument& document, int version, Machine& machine)
      : document_(document), version_(version), machine_(machine) {}

  /// Adds what leads to a GPU or a port of a bridge of the host, a PCI bridge or a PCI device.
  Status read(pugi::xml_node element, int64_t package, std::vector<PciDevice>& devices);

  /// Numbers the GPUs, after all have been read.
  Status number_gpus();

  /// GPUs and NVSwitches; the caller adds packages.
  HwlocObjects objects;

 private:
  struct OsDevice {
    pugi::xml_node element;
    std::string name;
    int line = 0;
    bool is_network = false, is_fabric = false;  // OpenFabrics: a verbs device
  };

  /// By what counts them, in the order of preference: NVML counts all GPUs of the host, CUDA those of a
  /// process, ROCm SMI AMD's. -1: not counted.
  static constexpr const char* kCounters[] = {"nvml", "cuda", "rsmi"};
  struct GpuNumbers {
    int by[std::size(kCounters)] = {-1, -1, -1};
    friend bool operator==(const GpuNumbers&, const GpuNumbers&) = default;
  };

  Status read_device(pugi::xml_node element, int64_t package, std::vector<PciDevice>& devices);
  Status read_identity(XmlAttributes& attributes, pugi::xml_node element, PciDevice& device);
  Status read_link(XmlAttributes& attributes, pugi::xml_node element, PciDevice& device);
  void wake_link(PciDevice& bridge);
  Result<OsDevice> read_os_device(pugi::xml_node element) const;
  void add_gpu(const std::vector<OsDevice>& os_devices, pugi::xml_node element, PciDevice& device);
  void guess_capability(PciDevice& device);
  void add_ports(const std::vector<OsDevice>& os_devices, PciDevice& device);
  void add_fabric_ports(const OsDevice& os_device, PciDevice& device);
  Status note(pugi::xml_node element, HwlocKind kind, const std::string& bus_id, int64_t package);

  const XmlDocument& document_;
  const int version_;
  Machine& machine_;
  std::map<std::string, int> lines_;           // of PCI devices, by bus id
  std::map<std::string, GpuNumbers> numbers_;  // of GPUs, by bus id
};

}  // namespace rondo
