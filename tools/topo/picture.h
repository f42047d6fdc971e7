// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "machine_view.h"
#include "plan_view.h"

namespace rondo::topo {

/// An SVG: for each host its NUMA nodes, below them the PCI tree with GPUs and NICs in one row, and below
/// that the GPUs' own links. Width and colour of a line are said in the legend. With a plan its trees or
/// rings are drawn in colours, and links that they do not cross pale.
std::string svg_picture(const MachineView& machine, const std::string& title, const PlanView* plan = nullptr);

}  // namespace rondo::topo
