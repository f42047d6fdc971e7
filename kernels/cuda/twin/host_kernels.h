// SPDX-License-Identifier: Apache-2.0
// The kernels compiled for the host, by name: run by a stand-in for CUDA's driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo::device {

struct HostKernel {
  const char* name;
  size_t argument_bytes;  // size of its one argument, a struct passed by value
  /// Runs a whole launch to completion. Blocks that wait for one another run concurrently.
  void (*run)(const void* argument, uint32_t blocks, uint32_t threads);
};

std::span<const HostKernel> host_kernels();

}  // namespace rondo::device
