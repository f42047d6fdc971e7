// Kernels: loading the images that hold them and launching them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

/// Device code for several architectures. Loaded once and kept while the process lives.
class Image {
 public:
  static Result<Image> load(std::span<const std::byte> code);
  /// InternalError where the image has none of that name.
  Result<Kernel> find(const char* name, int device) const;

 private:
  CUlib_st* library_ = nullptr;
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
