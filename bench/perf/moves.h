// The least that a collective has to move: what no algorithm can do without. Pure functions: any thread.
#pragma once

#include <vector>

#include "layout.h"

namespace rondo::perf {

/// Elements of one rank's buffers.
struct Moved {
  size_t read = 0;     // that some rank's result depends on, each once
  size_t written = 0;  // that are not there already
};

/// By rank; `shape.rank` does not count.
std::vector<Moved> least_moved(Shape shape, bool in_place);

}  // namespace rondo::perf
