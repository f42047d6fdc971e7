// SPDX-License-Identifier: Apache-2.0
// Device memory, and host memory that devices can access. Any thread.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo::gpu {

/// The kind of memory that a pointer points to.
struct Place {
  enum class Kind {
    Pageable,  // host memory that no device can access; also memory unknown to CUDA, such as freed memory
    Pinned,    // host memory that all devices can access
    Device,
    Managed,  // migrates between host and devices automatically
  };
  Kind kind = Kind::Pageable;
  int device = -1;    // Device, Managed: the owner
  bool plain = true;  // Device: from cudaMalloc(), so peers can access it; false: of a pool or mapped by hand
};
Result<Place> place_of(const void* pointer);  // SystemError if the GPU that owns it has failed

enum class MemoryKind { Device, Pinned, Managed };

/// Owned memory of one kind.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> allocate(MemoryKind kind, int device, size_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  MemoryKind kind_ = MemoryKind::Device;
  int device_ = 0;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Copies between any two places; returns when done.
Status copy(void* to, const void* from, size_t bytes);

/// Copies, or sets every byte to `value`, in stream order. The device's context must be current.
Status copy(void* to, const void* from, size_t bytes, Stream stream);
Status fill(void* at, std::byte value, size_t bytes, Stream stream);

/// Copies to memory of a device, or fills it with zeros; returns when done. Does not synchronize with other
/// streams, so it is allowed while streams are being captured.
Status upload(int device, void* to, const void* from, size_t bytes);
Status clear(int device, void* at, size_t bytes);

}  // namespace rondo::gpu
