// SPDX-License-Identifier: Apache-2.0
// RdmaMemory: memory of a GPU that network cards can read and write (GPUDirect RDMA). Any thread.
#pragma once

#include <memory>

#include "base/exportable.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace rondo::gpu {

class RdmaMemory final : public GpuMemory {
 public:
  /// Aligned to kAlignment.
  static Result<std::shared_ptr<const RdmaMemory>> allocate(int device, size_t bytes);

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  /// Unsupported if the driver gives no descriptors of GPU memory.
  Result<Fd> dmabuf() const override;
  Status copy(std::byte* to, const std::byte* from, size_t bytes) const override;
  Visibility visibility() const override { return visibility_; }
  Status flush() const override;

  /// Of a descriptor's range: that of pages, which may have 64 KiB.
  static constexpr size_t kAlignment = size_t{64} * 1024;

 private:
  RdmaMemory() = default;

  int device_ = 0;
  Memory memory_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  OwnedStream copies_;
  Visibility visibility_ = Visibility::AfterRead;
};

/// What a device says of memory that network cards write; Unsupported if they cannot.
Result<GpuMemory::Visibility> rdma_visibility(int device);

}  // namespace rondo::gpu
