// SPDX-License-Identifier: Apache-2.0
// The minimum that a collective must move with any algorithm. Pure functions: any thread.
#pragma once

#include <vector>

#include "layout.h"

namespace rondo::perf {

/// Elements of one rank's buffers.
struct Moved {
  size_t read = 0;     // on which some rank's result depends, each counted once
  size_t written = 0;  // not already in place
};

/// By rank; `shape.rank` is ignored.
std::vector<Moved> least_moved(DataShape shape, bool in_place);

}  // namespace rondo::perf
