// SPDX-License-Identifier: Apache-2.0
// Kernels: loads the images that contain them and launches them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.h"
#include "gpu/stream.h"

struct CUlib_st;
struct CUfunc_st;

namespace rondo::gpu {

/// A kernel loaded onto one device, so that launches need not load it.
struct Kernel {
  CUfunc_st* function = nullptr;
  int device = 0;
};

/// Device code as built.
struct DeviceCode {
  using Bytes = std::span<const std::byte>;
  Bytes linked;              // for some architectures
  std::vector<Bytes> parts;  // the linker's inputs, which the driver can compile for other architectures
  uint32_t max_registers;    // per thread
  const char* description;   // as in "code for sm_90 and PTX for compute_80 and later"
};

/// Loads the linked code on the architectures that it was built for; for others the driver compiles and links
/// the parts. Loaded once per device and kept for the lifetime of the process.
class Image {
 public:
  /// The memory that `code` points to must outlive the image.
  explicit Image(DeviceCode code) : code_(std::move(code)) {}
  Result<Kernel> find(const char* name, int device);

 private:
  Result<Kernel> find_on_current(const char* name, int device);

  DeviceCode code_;
  std::mutex mutex_;
  std::map<int, CUlib_st*> libraries_;  // by device
};

/// The number of blocks of that many threads that the device can run concurrently.
Result<uint32_t> resident_blocks(const Kernel& kernel, uint32_t threads);

struct Grid {
  uint32_t blocks = 1;
  uint32_t threads = 1;
  bool cooperative = false;  // all blocks run concurrently, or the launch fails
};

/// The kernel takes one argument, which is copied. The device's context must be current.
Status launch(const Kernel& kernel, const Grid& grid, Stream stream, const void* argument);

}  // namespace rondo::gpu
