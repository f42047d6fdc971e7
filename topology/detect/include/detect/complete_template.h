// SPDX-License-Identifier: Apache-2.0
// Templates: descriptions of a host that leave GPUs and network ports to detection, as clouds ship them for
// NCCL_TOPO_FILE. Their PCI tree is what the virtual machine hides. Pure function: any thread.
#pragma once

#include "graph/machine.h"

namespace rondo {

/// Adds to the template what the host has at the same bus ids: GPUs, ports, and whatever the template leaves
/// empty. Nothing, and false, unless the host has GPUs and each of them has its place in the template: it is
/// one of another host then.
bool complete_template(Machine& description, const Machine& host);

}  // namespace rondo
