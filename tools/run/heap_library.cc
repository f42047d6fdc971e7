// SPDX-License-Identifier: Apache-2.0
#include "heap_library.h"

#include <cstdlib>
#include <filesystem>

namespace rondo::run {
namespace {

namespace fs = std::filesystem;

/// Relative to the program's folder: as installed, and as built.
constexpr const char* kPlaces[] = {RONDO_LIBRARIES, "../lib", "../../runtime/heap"};

}  // namespace

std::string preload_with_heap() {
  std::error_code problem;
  const fs::path folder = fs::read_symlink("/proc/self/exe", problem).parent_path();
  for (const char* place : kPlaces) {
    const fs::path path = fs::weakly_canonical(folder / place / "librondo-heap.so", problem);
    if (problem || !fs::is_regular_file(path, problem)) continue;
    const char* const others = std::getenv("LD_PRELOAD");
    return others == nullptr || *others == '\0' ? path.string() : path.string() + ":" + others;
  }
  return "";
}

}  // namespace rondo::run
