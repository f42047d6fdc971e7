// The GPUs that this process may use. Main thread, before ranks start.
#pragma once

#include "gpu_options.h"

namespace rondo::perf {

/// Asks CUDA in a process of its own, because CUDA does not survive the forks that start ranks.
Gpus visible_gpus();

}  // namespace rondo::perf
