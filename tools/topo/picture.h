// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "machine_view.h"

namespace rondo::topo {

/// An SVG: for each host its NUMA nodes, below them the PCI tree with GPUs and NICs in one row, and below
/// that the GPUs' own links. Width and colour of a line are said in the legend.
std::string svg_picture(const MachineView& machine, const std::string& title);

}  // namespace rondo::topo
