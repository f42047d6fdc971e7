// SPDX-License-Identifier: Apache-2.0
// Which GPUs CUDA shows to a process, in its order, by CUDA_VISIBLE_DEVICES. Pure function: any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nvml.h"

namespace rondo {

/// Indices of `gpus`. `variable`: "2,0", "GPU-8932f937,GPU-46ab", "MIG-GPU-8932f937-.../1/0"; without a value
/// all. As in CUDA, the first word that names no GPU, or one named before, ends the list; it is reported.
std::vector<size_t> visible_gpus(std::span<const NvmlGpu> gpus, const std::optional<std::string>& variable,
                                 std::vector<std::string>& repairs);

/// Whether what is visible depends on the numbers that CUDA gives GPUs: `variable` has no value, or has a
/// number in it.
bool depends_on_numbers(const std::optional<std::string>& variable);

}  // namespace rondo
