// SPDX-License-Identifier: Apache-2.0
#include "topology/cache.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace rondo {
namespace {

struct Cache {
  int level = 0;
  size_t bytes = 0;
  std::string cpus;  // "0-3,8-11"
};

/// The caches that a CPU uses, as far as the kernel reports them.
std::vector<Cache> caches_of(int cpu) {
  std::vector<Cache> caches;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
    std::ifstream size(folder + "size");
    size_t kib = 0;
    char unit = 0;
    if (!(size >> kib >> unit)) return caches;
    Cache& cache = caches.emplace_back(Cache{.bytes = kib * (unit == 'M' ? 1024 : 1) * 1024});
    std::ifstream(folder + "level") >> cache.level;
    std::ifstream(folder + "shared_cpu_list") >> cache.cpus;
  }
}

/// The largest cache of a CPU; 0 bytes if the kernel does not report any.
Cache last_level_cache(int cpu) {
  const std::vector<Cache> caches = caches_of(cpu);
  const auto largest = std::ranges::max_element(caches, {}, &Cache::bytes);
  return largest == caches.end() ? Cache() : *largest;
}

}  // namespace

size_t last_level_cache_bytes() { return last_level_cache(0).bytes; }

bool lines_move() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

size_t core_cache_bytes() {
  for (const Cache& cache : caches_of(0))
    if (cache.level == 2) return cache.bytes;
  return 0;
}

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
