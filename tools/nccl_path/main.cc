// SPDX-License-Identifier: Apache-2.0
// rondo-nccl-path: prints the path of Rondo's libnccl.so.2, for LD_PRELOAD and VLLM_NCCL_SO_PATH. It searches
// relative to its own location, so an installation can be moved as a whole.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

/// Relative to the program's folder: as installed, as laid out in a wheel, as built.
constexpr const char* kPlaces[] = {RONDO_LIBRARIES "/rondo", "../lib/rondo", "../lib",
                                   "../../runtime/bindings/nccl"};

int say_usage() {
  std::puts(
      "rondo-nccl-path: prints the path of Rondo's libnccl.so.2.\n"
      "  LD_PRELOAD=$(rondo-nccl-path) program\n"
      "  VLLM_NCCL_SO_PATH=$(rondo-nccl-path) vllm ...");
  return 0;
}

int say_path() {
  std::error_code problem;
  const fs::path folder = fs::read_symlink("/proc/self/exe", problem).parent_path();
  for (const char* place : kPlaces) {
    const fs::path path = fs::weakly_canonical(folder / place / "libnccl.so.2", problem);
    if (problem || !fs::is_regular_file(path, problem)) continue;
    std::puts(path.c_str());
    return 0;
  }
  std::fprintf(stderr, "rondo-nccl-path: there is no libnccl.so.2 beside %s\n", folder.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return say_path();
  if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0))
    return say_usage();
  std::fprintf(stderr, "rondo-nccl-path: takes no arguments\n");
  return 2;
}
