// SPDX-License-Identifier: Apache-2.0
#include "sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rondo::perf {
std::string format_size(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return bytes == std::floor(bytes) ? fmt::format("{:.0f} {}", bytes, units[unit])
                                    : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::vector<size_t> sweep_sizes(const Sweep& sweep) {
  std::vector<size_t> sizes;
  for (size_t bytes = sweep.min_bytes; bytes <= sweep.max_bytes;) {
    sizes.push_back(bytes);
    size_t next = bytes + sweep.step_bytes;
    if (sweep.factor > 1) {
      next = static_cast<size_t>(static_cast<double>(bytes) * sweep.factor);
      next = std::max(next, bytes + 1);  // for 0, and for factors too small to change a small size
    }
    if (next <= bytes) break;  // a step of 0, or overflow
    bytes = next;
  }
  return sizes;
}

}  // namespace rondo::perf
