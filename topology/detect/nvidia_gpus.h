// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs that a process can use, with the NVLinks between them.
#pragma once

#include <string>

#include "detect/detect_machine.h"
#include "detect/sysfs.h"
#include "pci_tree.h"

namespace rondo {

/// Adds them to the tree, and to the machine whether they reach one another below its switches.
/// Returns how many there are.
int add_nvidia_gpus(const DetectOptions& options, Sysfs& sysfs, PciTree& tree, Machine& machine);

}  // namespace rondo
