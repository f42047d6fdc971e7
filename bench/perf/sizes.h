// SPDX-License-Identifier: Apache-2.0
// Message sizes: formatting, and the list of sizes that a sweep visits. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rondo::perf {

/// A size as people write it: "8 B", "4 KiB", "1.5 MiB".
std::string format_size(double bytes);

struct Sweep {
  size_t min_bytes = 32u << 20;
  size_t max_bytes = 32u << 20;
  size_t step_bytes = 1u << 20;
  double factor = 0;  // above 1: multiply instead of adding step_bytes
};

/// From min_bytes up to max_bytes, ascending, each size once.
std::vector<size_t> sweep_sizes(const Sweep& sweep);

}  // namespace rondo::perf
