// SPDX-License-Identifier: Apache-2.0
#include "detect/pci_functions.h"

#include <fmt/format.h>

namespace rondo {

std::string pci_function(const std::string& bus_id) { return fmt::format("{}/{}", kPciFunctions, bus_id); }

std::vector<std::string> gpu_functions(Sysfs& sysfs, std::string_view vendor) {
  std::vector<std::string> found;
  for (std::string& name : sysfs.names(kPciFunctions)) {
    const std::string folder = pci_function(name);
    const std::string cls = sysfs.text(folder + "/class");
    const bool is_gpu = cls.starts_with("0x0300") || cls.starts_with("0x0302") || cls.starts_with("0x0380") ||
                        cls.starts_with("0x1200");
    if (is_gpu && sysfs.text(folder + "/vendor") == vendor) found.push_back(std::move(name));
  }
  return found;
}

}  // namespace rondo
