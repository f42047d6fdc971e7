#include "gpu/memory.h"

#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "driver.h"
#include "gpu/device.h"
#include "gpu/owned_stream.h"
#include "gpu/shared_memory.h"

namespace rondo::gpu {
namespace {

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

Place place_of(const void* pointer) {
  if (pointer == nullptr || !in_use() || !driver().ok()) return {};
  unsigned memory = 0;
  int device = 0;
  unsigned managed = 0;
  unsigned plain = 0;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
  std::array<void*, attributes.size()> values{&memory, &device, &managed, &plain};
  const CUresult result = driver().value()->cuPointerGetAttributes(
      static_cast<unsigned>(attributes.size()), attributes.data(), values.data(), address(pointer));
  if (result != CUDA_SUCCESS || memory == 0) return {};
  if (managed != 0) return {Place::Kind::Managed, device, true};
  if (memory == CU_MEMORYTYPE_HOST) return {Place::Kind::Pinned, -1, true};
  return {Place::Kind::Device, device, plain != 0};
}

Result<Memory> Memory::allocate(MemoryKind kind, int device, size_t bytes) {
  Memory memory;
  if (bytes == 0) return memory;
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  CUdeviceptr at = 0;
  void* host = nullptr;
  CUresult result = CUDA_SUCCESS;
  switch (kind) {
    case MemoryKind::Device: result = cuda->cuMemAlloc(&at, bytes); break;
    case MemoryKind::Managed: result = cuda->cuMemAllocManaged(&at, bytes, CU_MEM_ATTACH_GLOBAL); break;
    case MemoryKind::Pinned:
      result = cuda->cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
      break;
  }
  RONDO_TRY(outcome(result, fmt::format("allocating {} bytes for GPU {}", bytes, device).c_str()));
  memory.kind_ = kind;
  memory.device_ = device;
  memory.data_ = host != nullptr ? static_cast<std::byte*>(host) : reinterpret_cast<std::byte*>(at);
  memory.bytes_ = bytes;
  return memory;
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  const Current current(device_);
  if (!current.status().ok()) return;  // the driver is going away, and the memory with it
  if (kind_ == MemoryKind::Pinned)
    driver().value()->cuMemFreeHost(data_);
  else
    driver().value()->cuMemFree(address(data_));
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

/// Issues to a stream of its own, and waits for that.
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
