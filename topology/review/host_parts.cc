// SPDX-License-Identifier: Apache-2.0
#include "host_parts.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file_contents.h"
#include "review/host_faults.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kDisplay = 0x03, kVga = 0x0300, kAccelerator = 0x12;
constexpr uint32_t kNvidia = 0x10de, kAmd = 0x1002;

uint32_t hex_in(const std::string& path) {
  const std::string text = file_contents(path);
  const size_t start = text.starts_with("0x") ? 2 : 0;
  uint32_t value = 0;
  std::from_chars(text.data() + start, text.data() + text.size(), value, 16);
  return value;
}

/// The screen of a server's management controller is a display, too.
bool is_gpu(uint32_t pci_class, uint32_t vendor) {
  const uint32_t kind = pci_class >> 16;
  if (kind == kAccelerator) return true;
  if (kind != kDisplay) return false;
  return pci_class >> 8 != kVga || vendor == kNvidia || vendor == kAmd;
}

}  // namespace

std::vector<SysPciDevice> sys_pci_devices(const std::string& root) {
  std::vector<SysPciDevice> devices;
  std::error_code problem;
  for (fs::directory_iterator entry(root + "/sys/bus/pci/devices", problem), end; !problem && entry != end;
       entry.increment(problem)) {
    SysPciDevice device;
    std::error_code lost;
    device.bus_id = entry->path().filename();
    device.folder = fs::canonical(entry->path(), lost);
    if (lost) continue;
    device.pci_class = hex_in(device.folder + "/class");
    device.is_gpu = is_gpu(device.pci_class, hex_in(device.folder + "/vendor"));
    devices.push_back(std::move(device));
  }
  std::ranges::sort(devices, {}, &SysPciDevice::bus_id);
  return devices;
}

std::vector<MachineFinding> host_faults(const std::string& root) {
  Faults faults;
  find_host_pci_faults(root, faults);
  find_process_faults(root, faults);
  return faults;
}

}  // namespace rondo
