// SPDX-License-Identifier: Apache-2.0
// One rank's call with its buffers, and how to make it. Used by the rank's thread.
#pragma once

#include <vector>

#include "buffers.h"
#include "call.h"
#include "team.h"

namespace rondo::perf {

struct Trial {
  BenchCall call;
  Buffers* buffers = nullptr;
  BufferPlace place;
};

/// Makes the calls of all ranks of the team `times` times, in a group if that is more than one call.
rondo_status_t make_calls(const std::vector<Trial>& trials, int times);

/// Makes one call of each rank, through a graph if the options say so, and waits for completion.
rondo_status_t run_once(Team& team, const std::vector<Trial>& trials);

}  // namespace rondo::perf
