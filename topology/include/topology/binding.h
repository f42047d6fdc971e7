// Binding: which CPUs a thread may run on. Speaks of the calling thread only.
#pragma once

#include <vector>

#include "base/status.h"

namespace rondo {

/// The CPUs that the calling thread may run on, ascending.
Result<std::vector<int>> bound_cpus();

/// From here on the calling thread, and the threads that it starts, run on this CPU only.
Status bind_thread(int cpu);

}  // namespace rondo
