// Where the threads of a process meet for a CUDA graph: what all its ranks do is captured into one. One
// thread writes what others read after a barrier of theirs.
#pragma once

#include <vector>

#include "gpu/graph.h"

namespace rondo::perf {

struct GraphMeeting {
  explicit GraphMeeting(size_t ranks) : ends(ranks) {}

  gpu::Event start;              // of the first rank's stream, from which the capture comes to the others'
  std::vector<gpu::Event> ends;  // by rank of this process: where the capture comes back
  double elapsed_us = 0;         // of the replays
};

}  // namespace rondo::perf
