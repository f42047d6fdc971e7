// SPDX-License-Identifier: Apache-2.0
// Memory from cudaMalloc() that other processes of the host open by a handle. The handle is plain data: any
// process that has it can open the memory. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/status.h"

namespace rondo::gpu {

/// The driver's allocation that contains an address.
struct Allocation {
  std::byte* base = nullptr;
  size_t bytes = 0;
};
Result<Allocation> allocation_of(const void* pointer, int device);

struct IpcHandle {
  std::array<std::byte, 64> bytes{};
};
/// The handle of the allocation that begins at `base`.
Result<IpcHandle> export_memory(const void* base, int device);

/// Another process's allocation, mapped for kernels on a device. Opening and closing may wait for the device.
class ImportedMemory {
 public:
  static Result<ImportedMemory> open(const IpcHandle& handle, int device);

  /// The start of the allocation in this process.
  std::byte* base() const { return base_.get(); }

 private:
  struct CloseMemory {
    int device;
    void operator()(std::byte* base) const;
  };
  std::unique_ptr<std::byte, CloseMemory> base_;
};

}  // namespace rondo::gpu
