// Memory of devices, and memory of the host that devices reach. Any thread.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo::gpu {

/// Where a pointer leads.
struct Place {
  enum class Kind {
    Pageable,  // host memory that no device reaches; also what CUDA does not know, freed memory above all
    Pinned,    // host memory that all devices reach
    Device,
    Managed,  // moves between host and devices by itself
  };
  Kind kind = Kind::Pageable;
  int device = -1;    // Device, Managed: whose
  bool plain = true;  // Device: of cudaMalloc(), so that peers reach it; false: of a pool or mapped by hand
};
Result<Place> place_of(const void* pointer);  // SystemError where the GPU that has it has failed

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

/// Copies between any two places, and returns when it is done.
Status copy(void* to, const void* from, size_t bytes);

/// The same, and setting every byte to `value`, in the stream's order. The device's context is current.
Status copy(void* to, const void* from, size_t bytes, Stream stream);
Status fill(void* at, std::byte value, size_t bytes, Stream stream);

/// Copies to memory of a device, or fills it with zeros, and returns when it is done. No other stream waits
/// or is waited for, so that this may be done while streams are being captured.
Status upload(int device, void* to, const void* from, size_t bytes);
Status clear(int device, void* at, size_t bytes);

}  // namespace rondo::gpu
