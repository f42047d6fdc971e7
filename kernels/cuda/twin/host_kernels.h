// The kernels, compiled for the host, by their names: what a stand-in for CUDA's driver runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo::device {

struct HostKernel {
  const char* name;
  size_t argument_bytes;  // of its one argument, a struct by value
  /// A whole launch; returns at its end. Blocks that wait for one another run at the same time.
  void (*run)(const void* argument, uint32_t blocks, uint32_t threads);
};

std::span<const HostKernel> host_kernels();

}  // namespace rondo::device
