// SPDX-License-Identifier: Apache-2.0
// The PCI functions that /sys shows, and which of them are GPUs. One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "detect/sysfs.h"

namespace rondo {

/// The folder of all PCI functions, and that of one.
constexpr const char* kPciFunctions = "bus/pci/devices";
std::string pci_function(const std::string& bus_id);

/// The bus ids of one maker's GPUs: display controllers, 3D controllers and accelerators.
std::vector<std::string> gpu_functions(Sysfs& sysfs, std::string_view vendor);

}  // namespace rondo
