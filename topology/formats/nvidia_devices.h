// SPDX-License-Identifier: Apache-2.0
// The generation of NVIDIA's GPUs by their PCI device number, for descriptions that state nothing else. Pure
// function: any thread.
#pragma once

namespace rondo {

struct ComputeCapability {
  int sm = 0;             // 90 for 9.0; 0: there is no such GPU
  bool is_known = false;  // else it is that of the numbers before this one
};

ComputeCapability compute_capability_of(int pci_device);

}  // namespace rondo
