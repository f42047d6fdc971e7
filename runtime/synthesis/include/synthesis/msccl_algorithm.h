// SPDX-License-Identifier: Apache-2.0
// Algorithms out of MSCCL's files.
#pragma once

#include <string>

#include "algorithms/algorithm.h"
#include "base/status.h"

namespace rondo {

/// Whether there are such files for the collective.
bool is_of_msccl(CollectiveKind kind);

/// The row of the file, for as many ranks as it has GPUs, with the slots that it needs and whether it serves
/// calls in place; `name` must be static. InvalidArgument, with file and line, if the file is malformed, or
/// with what the verifier says if it does not do what its collective is defined to do; Unsupported if it is
/// too large. Any thread.
Result<Algorithm> msccl_algorithm(const char* name, const std::string& path);

}  // namespace rondo
