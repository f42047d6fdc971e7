// SPDX-License-Identifier: Apache-2.0
// The ports of a host's network interfaces that are in use: those of verbs devices, and Ethernet interfaces
// of cards without one, since the interfaces of a card with one are the same ports.
#pragma once

#include <string>
#include <vector>

#include "detect/sysfs.h"
#include "graph/machine.h"
#include "pci_tree.h"

namespace rondo {

struct FoundPort {
  NetPort port;
  PciPath path;  // of its PCI function; empty: it has none
};

/// Verbs devices first, each kind in natural order of the names.
std::vector<FoundPort> find_ports(Sysfs& sysfs);

}  // namespace rondo
