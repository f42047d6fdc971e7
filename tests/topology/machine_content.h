// SPDX-License-Identifier: Apache-2.0
// Whether two Machines are the same but for the files that they come from: source, lines and repairs.
#pragma once

#include <vector>

#include "graph/machine.h"

namespace rondo::test {

template <typename Part>
void forget_lines(std::vector<Part>& parts) {
  for (Part& part : parts) part.line = 0;
}

inline void forget_lines_below(std::vector<PciDevice>& devices) {
  forget_lines(devices);
  for (PciDevice& device : devices) {
    if (device.gpu) {
      device.gpu->line = 0;
      forget_lines(device.gpu->links);
    }
    forget_lines(device.ports);
    forget_lines(device.other);
    forget_lines(device.nic_other);
    forget_lines_below(device.below);
  }
}

inline std::vector<NumaNode> content(const Machine& machine) {
  std::vector<NumaNode> numa = machine.numa;
  forget_lines(numa);
  for (NumaNode& node : numa) {
    forget_lines(node.ports);
    forget_lines(node.nic_other);
    forget_lines_below(node.devices);
  }
  return numa;
}

inline bool have_same_content(const Machine& a, const Machine& b) {
  return a.version == b.version && a.p2p_below_switches == b.p2p_below_switches && a.extra == b.extra &&
         content(a) == content(b);
}

}  // namespace rondo::test
