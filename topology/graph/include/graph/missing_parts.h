// SPDX-License-Identifier: Apache-2.0
// What a Machine lacks before plans can be searched for on it: templates, as clouds ship them, have the PCI
// tree alone and leave GPUs and ports to detection. Pure function: any thread.
#pragma once

#include <string>
#include <vector>

#include "graph/machine.h"

namespace rondo {

/// A phrase for each thing, of what the machine has instead: "8 PCI devices of class 0x0302 without a GPU",
/// "no GPUs". Empty: nothing.
std::vector<std::string> missing_parts(const Machine& machine);

}  // namespace rondo
