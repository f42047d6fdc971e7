// SPDX-License-Identifier: Apache-2.0
#include "gpu/shared_memory.h"

#include <cstring>
#include <utility>

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {
namespace {

CUmemAllocationProp properties(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

}  // namespace

/// Maps the handle's memory at an address that kernels on the device can access.
Status SharedMemory::map(SharedMemory& memory, int device) {
  const Driver& cuda = *driver().value();
  CUdeviceptr at = 0;
  RONDO_TRY(outcome(cuda.cuMemAddressReserve(&at, memory.bytes_, 0, 0, 0),
                    "reserving addresses for shared memory"));
  memory.data_ = reinterpret_cast<std::byte*>(at);
  RONDO_TRY(
      outcome(cuda.cuMemMap(at, memory.bytes_, 0, memory.handle_, 0), "mapping shared memory of a GPU"));
  memory.mapped_ = true;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return outcome(cuda.cuMemSetAccess(at, memory.bytes_, &access, 1),
                 "enabling access to shared memory of a GPU");
}

Result<SharedMemory> SharedMemory::create(int device, size_t bytes) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  const CUmemAllocationProp prop = properties(device);
  size_t unit = 0;
  RONDO_TRY(outcome(cuda->cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                    "querying the granularity of shared memory"));
  SharedMemory memory;
  memory.bytes_ = (bytes + unit - 1) / unit * unit;
  CUmemGenericAllocationHandle handle = 0;
  RONDO_TRY(outcome(cuda->cuMemCreate(&handle, memory.bytes_, &prop, 0),
                    fmt::format("allocating {} bytes of GPU {} to share", memory.bytes_, device).c_str()));
  memory.handle_ = handle;
  memory.has_handle_ = true;
  RONDO_TRY(map(memory, device));
  return memory;
}

Result<SharedMemory> SharedMemory::open(const Fd& fd, size_t bytes, int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  CUmemGenericAllocationHandle handle = 0;
  RONDO_TRY(outcome(
      cuda->cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(fd.get())),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      "opening another process's GPU memory"));
  SharedMemory memory;
  memory.bytes_ = bytes;
  memory.handle_ = handle;
  memory.has_handle_ = true;
  RONDO_TRY(map(memory, device));
  return memory;
}

Result<Fd> SharedMemory::exported() const {
  int fd = -1;
  RONDO_TRY(outcome(driver().value()->cuMemExportToShareableHandle(
                        &fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                    "sharing GPU memory with other processes"));
  return Fd(fd);
}

SharedMemory::~SharedMemory() {
  if (!has_handle_) return;
  const Driver& cuda = *driver().value();
  if (mapped_) cuda.cuMemUnmap(address(data_), bytes_);
  if (data_ != nullptr) cuda.cuMemAddressFree(address(data_), bytes_);
  cuda.cuMemRelease(handle_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(has_handle_, other.has_handle_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Result<HostWindow> HostWindow::open(int device, void* memory, size_t bytes) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  RONDO_TRY(outcome(
      cuda->cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
      "mapping host memory for a GPU"));
  HostWindow window;
  window.memory_ = {memory, {device}};
  CUdeviceptr at = 0;
  RONDO_TRY(outcome(cuda->cuMemHostGetDevicePointer(&at, memory, 0), "mapping host memory for a GPU"));
  window.data_ = reinterpret_cast<std::byte*>(at);
  return window;
}

void HostWindow::UnregisterMemory::operator()(void* memory) const {
  const Current current(device);
  if (current.status().ok()) driver().value()->cuMemHostUnregister(memory);
}

OutsideCapture::OutsideCapture() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (driver().ok() && driver().value()->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS)
    before_ = mode;
}

OutsideCapture::~OutsideCapture() {
  if (before_ < 0) return;
  auto mode = static_cast<CUstreamCaptureMode>(before_);
  driver().value()->cuThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace rondo::gpu
