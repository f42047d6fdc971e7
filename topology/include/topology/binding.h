// SPDX-License-Identifier: Apache-2.0
// Binding: the CPUs that a thread may run on. Concerns the calling thread only.
#pragma once

#include <vector>

#include "base/status.h"

namespace rondo {

/// The CPUs that the calling thread may run on, ascending.
Result<std::vector<int>> bound_cpus();

/// Restricts the calling thread, and the threads that it starts from now on, to this CPU.
Status bind_thread(int cpu);

}  // namespace rondo
