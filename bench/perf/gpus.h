// SPDX-License-Identifier: Apache-2.0
// The GPUs that this process may use. Main thread, before ranks start.
#pragma once

#include "gpu_options.h"

namespace rondo::perf {

/// Queries CUDA in a separate process, because CUDA does not survive the forks that start ranks.
Gpus visible_gpus();

}  // namespace rondo::perf
