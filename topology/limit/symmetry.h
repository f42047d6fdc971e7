// SPDX-License-Identifier: Apache-2.0
// Symmetry of a network: GPUs that can be exchanged without changing it, so that what holds for one of them
// holds for all. Internal to the bound.
#pragma once

#include <span>
#include <vector>

#include "cut.h"

namespace rondo {

/// By node: the first of the nodes that it is known to be exchangeable with, or itself. Those are GPUs whose
/// links are the same, and the corresponding nodes of hosts whose links are the same, of equal `colours`
/// (by node). There may be further symmetries.
std::vector<int> exchangeable(const CutNetwork& network, std::span<const int> colours);

}  // namespace rondo
