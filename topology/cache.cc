#include "topology/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace rondo {

size_t last_level_cache_bytes() {
  size_t most = 0;
  for (int index = 0;; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    size_t kib = 0;
    char unit = 0;
    if (!(file >> kib >> unit)) return most;
    most = std::max(most, kib * (unit == 'M' ? 1024 : 1) * 1024);
  }
}

}  // namespace rondo
