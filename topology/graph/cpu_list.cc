// SPDX-License-Identifier: Apache-2.0
#include "graph/cpu_list.h"

#include <charconv>

namespace rondo {

std::optional<std::set<int>> cpu_list(std::string_view text) {
  constexpr int kMaxCpu = 65'535;
  std::set<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = -1;
    std::from_chars_result read = std::from_chars(at, end, first);
    int last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || first < 0 || last < first || last > kMaxCpu) return std::nullopt;
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    at = read.ptr;
    if (at != end && *at++ != ',') return std::nullopt;
  }
  return cpus;
}

}  // namespace rondo
