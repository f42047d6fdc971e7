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

/// Device code. What was linked for some architectures is loaded as it is; for later ones the driver compiles and
/// links the parts it was made of. Loaded once a device and kept while the process lives.
class Image {
 public:
  using Code = std::span<const std::byte>;
  /// All of it stays where it is.
  Image(Code linked, std::vector<Code> parts) : linked_(linked), parts_(std::move(parts)) {}
  Result<Kernel> find(const char* name, int device);

 private:
  Code linked_;
  std::vector<Code> parts_;
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
