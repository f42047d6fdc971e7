// Memory of cudaMalloc() that other processes of the host open by a handle. The handle is plain data: whoever
// reads it can open the memory. Any thread.
#pragma once

#include <array>
#include <cstddef>

#include "base/status.h"

namespace rondo::gpu {

/// An allocation that an address lies in, as the driver knows it.
struct Allocation {
  std::byte* base = nullptr;
  size_t bytes = 0;
};
Result<Allocation> allocation_of(const void* pointer, int device);

struct IpcHandle {
  std::array<std::byte, 64> bytes{};
};
/// For the allocation that begins at `base`.
Result<IpcHandle> export_memory(const void* base, int device);

/// Another process's allocation, for kernels of a device. Opening and closing it may wait for the device's
/// work.
class ImportedMemory {
 public:
  static Result<ImportedMemory> open(const IpcHandle& handle, int device);
  ImportedMemory() = default;
  ~ImportedMemory();
  ImportedMemory(ImportedMemory&& other) noexcept;
  ImportedMemory& operator=(ImportedMemory&& other) noexcept;

  /// Where the allocation begins for this process.
  std::byte* base() const { return base_; }

 private:
  int device_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace rondo::gpu
