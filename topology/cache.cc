// SPDX-License-Identifier: Apache-2.0
#include "topology/cache.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

namespace rondo {
namespace {

struct Cache {
  size_t bytes = 0;
  std::string cpus;  // "0-3,8-11"
};

/// The largest cache of a CPU; 0 bytes if the kernel does not report any.
Cache last_level_cache(int cpu) {
  Cache last;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
    std::ifstream size(folder + "size");
    size_t kib = 0;
    char unit = 0;
    if (!(size >> kib >> unit)) return last;
    const size_t bytes = kib * (unit == 'M' ? 1024 : 1) * 1024;
    if (bytes <= last.bytes) continue;
    last.bytes = bytes;
    std::ifstream(folder + "shared_cpu_list") >> last.cpus;
  }
}

}  // namespace

size_t last_level_cache_bytes() { return last_level_cache(0).bytes; }

int shared_last_level_cache(std::span<const int> cpus) {
  if (cpus.empty()) return -1;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> users(hwloc_bitmap_alloc(),
                                                                            hwloc_bitmap_free);
  if (hwloc_bitmap_list_sscanf(users.get(), last_level_cache(cpus.front()).cpus.c_str()) != 0) return -1;
  const bool all = std::all_of(cpus.begin(), cpus.end(), [&users](int cpu) {
    return hwloc_bitmap_isset(users.get(), static_cast<unsigned>(cpu)) != 0;
  });
  return all ? hwloc_bitmap_first(users.get()) : -1;
}

}  // namespace rondo
