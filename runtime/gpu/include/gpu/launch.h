// Kernels: loading the images that hold them and launching them. Any thread.
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

/// On one device, brought there so that no launch has to.
struct Kernel {
  CUfunc_st* function = nullptr;
  int device = 0;
};

/// Device code as it was built.
struct DeviceCode {
  using Bytes = std::span<const std::byte>;
  Bytes linked;              // for some architectures
  std::vector<Bytes> parts;  // what it was linked from, which the driver can compile for others
  uint32_t max_registers;    // that a thread may use
  const char* description;   // as in "code for sm_90 and PTX for compute_80 and later"
};

/// What was linked for some architectures is loaded as it is; for others the driver compiles and links the
/// parts. Loaded once a device and kept while the process lives.
class Image {
 public:
  /// All that the code points to stays where it is.
  explicit Image(DeviceCode code) : code_(std::move(code)) {}
  Result<Kernel> find(const char* name, int device);

 private:
  Result<Kernel> find_on_current(const char* name, int device);

  DeviceCode code_;
  std::mutex mutex_;
  std::map<int, CUlib_st*> libraries_;  // by device
};

/// Blocks of that many threads that the device runs at the same time.
Result<uint32_t> resident_blocks(const Kernel& kernel, uint32_t threads);

struct Grid {
  uint32_t blocks = 1;
  uint32_t threads = 1;
  bool cooperative = false;  // all blocks run at the same time, or the launch fails
};

/// The kernel takes one argument, which is copied. The device's context is current.
Status launch(const Kernel& kernel, const Grid& grid, Stream stream, const void* argument);

}  // namespace rondo::gpu
