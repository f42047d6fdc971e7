// SPDX-License-Identifier: Apache-2.0
#include "gpu/rdma_memory.h"

#include "base/error_kinds.h"
#include "driver.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo::gpu {

Result<GpuMemory::Visibility> rdma_visibility(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  constexpr const char* kWhat = "querying a GPU";
  int is_supported = 0;
  int ordering = 0;
  int options = 0;
  RONDO_TRY(outcome(
      cuda->cuDeviceGetAttribute(&is_supported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, device),
      kWhat));
  if (is_supported == 0) return error(ErrorKind::NoGpuDirect, "GPU {} has no GPUDirect RDMA", device);
  RONDO_TRY(outcome(
      cuda->cuDeviceGetAttribute(&ordering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, device),
      kWhat));
  RONDO_TRY(outcome(
      cuda->cuDeviceGetAttribute(&options, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, device),
      kWhat));
  if (ordering >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER) return GpuMemory::Visibility::AtOnce;
  return (options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0 ? GpuMemory::Visibility::AfterFlush
                                                                      : GpuMemory::Visibility::AfterRead;
}

Result<std::shared_ptr<const RdmaMemory>> RdmaMemory::allocate(int device, size_t bytes) {
  const OutsideCapture outside;
  std::shared_ptr<RdmaMemory> made(new RdmaMemory);
  made->device_ = device;
  made->bytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  RONDO_TRY_ASSIGN(made->visibility_, rdma_visibility(device));
  RONDO_TRY_ASSIGN(made->memory_, Memory::allocate(MemoryKind::Device, device, made->bytes_ + kAlignment));
  const auto begin = reinterpret_cast<uintptr_t>(made->memory_.data());
  made->data_ = made->memory_.data() + (kAlignment - begin % kAlignment) % kAlignment;
  RONDO_TRY_ASSIGN(made->copies_, OwnedStream::create(device));
  return std::shared_ptr<const RdmaMemory>(std::move(made));
}

Result<Fd> RdmaMemory::dmabuf() const {
  const Current current(device_);
  RONDO_TRY(current.status());
  int descriptor = -1;
  const CUresult result = driver().value()->cuMemGetHandleForAddressRange(
      &descriptor, address(data_), bytes_, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (result == CUDA_ERROR_NOT_SUPPORTED)
    return error(ErrorKind::NoGpuDirect, "CUDA's driver gives no dmabuf of GPU {}'s memory", device_);
  RONDO_TRY(outcome(result, "getting a dmabuf"));
  return Fd(descriptor);
}

/// On a stream of its own, as kernels may wait for these bytes on every other one.
Status RdmaMemory::copy(std::byte* to, const std::byte* from, size_t bytes) const {
  const OutsideCapture outside;
  const Current current(device_);
  RONDO_TRY(current.status());
  RONDO_TRY(gpu::copy(to, from, bytes, copies_.get()));
  return synchronize(copies_.get());
}

Status RdmaMemory::flush() const {
  const OutsideCapture outside;
  const Current current(device_);
  RONDO_TRY(current.status());
  return outcome(
      driver().value()->cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                                   CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
      "flushing writes of network cards");
}

}  // namespace rondo::gpu
