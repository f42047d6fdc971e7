// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "driver.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"
#include "gpu/stream.h"

namespace rondo::gpu {
namespace {

/// Registers memory of the process, which the CPU can still use after the GPU is reset; a reset frees memory
/// from cuMemHostAlloc() while it is in use.
CUresult allocate_pinned(const Driver& cuda, size_t bytes, CUdeviceptr& at) {
  void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result =
      cuda.cuMemHostRegister(made, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  const bool registered = result == CUDA_SUCCESS;
  const CUresult found = registered ? cuda.cuMemHostGetDevicePointer(&at, made, 0) : result;
  if (found == CUDA_SUCCESS && at == address(made)) return CUDA_SUCCESS;  // same address on both
  if (registered) cuda.cuMemHostUnregister(made);
  ::munmap(made, bytes);
  return found == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : found;
}

}  // namespace

Result<Place> place_of(const void* pointer) {
  if (pointer == nullptr || !in_use() || !driver().ok()) return Place{};
  unsigned memory = 0;
  int device = 0;
  unsigned managed = 0;
  unsigned plain = 0;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
  std::array<void*, attributes.size()> values{&memory, &device, &managed, &plain};
  const CUresult result = driver().value()->cuPointerGetAttributes(
      static_cast<unsigned>(attributes.size()), attributes.data(), values.data(), address(pointer));
  if (result == CUDA_ERROR_INVALID_VALUE) return Place{};
  RONDO_TRY(outcome(result, "querying the memory of a buffer"));
  if (memory == 0) return Place{};
  if (managed != 0) return Place{Place::Kind::Managed, device, true};
  if (memory == CU_MEMORYTYPE_HOST) return Place{Place::Kind::Pinned, -1, true};
  return Place{Place::Kind::Device, device, plain != 0};
}

Result<Memory> Memory::allocate(MemoryKind kind, int device, size_t bytes) {
  Memory memory;
  if (bytes == 0) return memory;
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  CUdeviceptr at = 0;
  CUresult result = CUDA_SUCCESS;
  switch (kind) {
    case MemoryKind::Device: result = cuda->cuMemAlloc(&at, bytes); break;
    case MemoryKind::Managed: result = cuda->cuMemAllocManaged(&at, bytes, CU_MEM_ATTACH_GLOBAL); break;
    case MemoryKind::Pinned: result = allocate_pinned(*cuda, bytes, at); break;
  }
  RONDO_TRY(outcome(result, fmt::format("allocating {} bytes", bytes).c_str()));
  memory.kind_ = kind;
  memory.device_ = device;
  memory.data_ = reinterpret_cast<std::byte*>(at);
  memory.bytes_ = bytes;
  return memory;
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  const Current current(device_);
  if (!current.status().ok()) return;  // the driver is shutting down and frees the memory
  if (kind_ != MemoryKind::Pinned) {
    driver().value()->cuMemFree(address(data_));
  } else {
    driver().value()->cuMemHostUnregister(data_);
    ::munmap(data_, bytes_);
  }
}

Memory::Memory(Memory&& other) noexcept { *this = std::move(other); }

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Status copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return {};
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  return outcome(cuda->cuMemcpy(address(to), address(from), bytes), "copying memory");
}

Status copy(void* to, const void* from, size_t bytes, Stream stream) {
  if (bytes == 0) return {};
  return outcome(driver().value()->cuMemcpyAsync(address(to), address(from), bytes, stream),
                 "copying memory");
}

Status fill(void* at, std::byte value, size_t bytes, Stream stream) {
  if (bytes == 0) return {};
  const auto byte = static_cast<unsigned char>(value);
  return outcome(driver().value()->cuMemsetD8Async(address(at), byte, bytes, stream), "filling memory");
}

namespace {

/// Issues to a new stream and waits for it.
Status at_once(int device, const std::function<Status(Stream)>& issue) {
  const OutsideCapture outside;
  RONDO_TRY_ASSIGN(const OwnedStream stream, OwnedStream::create(device));
  const Current current(device);
  RONDO_TRY(current.status());
  RONDO_TRY(issue(stream.get()));
  return synchronize(stream.get());
}

}  // namespace

Status upload(int device, void* to, const void* from, size_t bytes) {
  return at_once(device, [&](Stream stream) { return copy(to, from, bytes, stream); });
}

Status clear(int device, void* at, size_t bytes) {
  return at_once(device, [&](Stream stream) { return fill(at, std::byte{0}, bytes, stream); });
}

}  // namespace rondo::gpu
