// One rank's call, the memory that it works on, and how it is made. Used by the rank's thread.
#pragma once

#include <vector>

#include "buffers.h"
#include "call.h"
#include "team.h"

namespace rondo::perf {

struct Trial {
  Call call;
  Buffers* buffers = nullptr;
  Place place;
};

/// The calls of all ranks of the team, that many times over, in a group where these are several.
rondo_status_t make_calls(const std::vector<Trial>& trials, int times);

/// One call of each rank, by a graph where the options want one, done when this returns.
rondo_status_t run_once(Team& team, const std::vector<Trial>& trials);

}  // namespace rondo::perf
