// SPDX-License-Identifier: Apache-2.0
// State shared by the threads of a process to capture the work of all its ranks into one CUDA graph. One
// thread writes each field; the others read it after a barrier.
#pragma once

#include <vector>

#include "gpu/graph.h"

namespace rondo::perf {

struct GraphMeeting {
  explicit GraphMeeting(size_t ranks) : ends(ranks) {}

  gpu::Event start;              // in the first rank's stream: forks the capture to the others'
  std::vector<gpu::Event> ends;  // by rank of this process: join the capture back
  double elapsed_us = 0;         // of the replays
};

}  // namespace rondo::perf
