// SPDX-License-Identifier: Apache-2.0
#include "review/faults.h"

#include "fault_rules.h"

namespace rondo {

std::string names_of(const std::vector<MachinePart>& parts) {
  std::vector<std::string> names;
  for (const MachinePart& part : parts) names.push_back(part.name);
  return listed(names);
}

std::vector<MachineFinding> faults(const Machine& machine) {
  Faults found;
  find_fabric_faults(machine, found);
  find_tree_faults(machine, found);
  find_pcie_faults(machine, found);
  find_nic_faults(machine, found);
  return found;
}

}  // namespace rondo
