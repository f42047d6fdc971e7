// SPDX-License-Identifier: Apache-2.0
// The cut that limits an exchange between all pairs of GPUs. Internal to the bound.
#pragma once

#include <span>

#include "cut.h"

namespace rondo {

/// Up to this number of GPUs all cuts are tried: to find the lowest is NP-hard.
inline constexpr size_t kMaxGpusOfAllCuts = 12;

/// A low capacity / (GPUs in S * GPUs outside). With more GPUs the lowest among cuts around single GPUs and
/// hosts, around GPUs close to one another, `known` ones, and what moving single GPUs across makes of it.
RatioCut low_sparsity_cut(const CutNetwork& network, std::span<const RatioCut> known);

}  // namespace rondo
