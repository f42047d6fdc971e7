// SPDX-License-Identifier: Apache-2.0
// AMD's GPUs, with the xGMI links between them, as the kernel's driver for compute (KFD) shows them in sysfs:
// those that a control group hides are absent. Without that driver they are PCI devices.
#pragma once

#include "detect/sysfs.h"
#include "pci_tree.h"

namespace rondo {

/// Adds them to the tree, with numbers from `first_dev` in the order of the driver.
void add_amd_gpus(Sysfs& sysfs, PciTree& tree, int first_dev);

}  // namespace rondo
