// SPDX-License-Identifier: Apache-2.0
// Reduction of a single source with nothing to compute: a copy.
#pragma once

#include <cstring>

#include "kernels/reduce.h"

namespace rondo {

inline bool is_plain_copy(const ReduceArgs& args) {
  return args.sources.size() == 1 && args.scaled_source != 0 && args.divisor == 1;
}

inline void plain_copy(const ReduceArgs& args) {
  if (args.count == 0 || args.out == args.sources[0]) return;
  std::memcpy(args.out, args.sources[0], args.count * element_info(args.type).bytes);
}

}  // namespace rondo
