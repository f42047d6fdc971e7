// SPDX-License-Identifier: Apache-2.0
#include "call/user_memory.h"

#include <cstdint>

#include "base/error_kinds.h"
#include "base/exportable.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

/// GPU memory given out, by address.
struct Allocations {
  std::mutex mutex;
  std::map<void*, std::shared_ptr<gpu::Memory>> all;
};

Allocations& allocations() {
  static auto& all = *new Allocations;
  return all;
}

}  // namespace

Result<void*> allocate_shared(size_t bytes) {
  if (bytes == 0) return static_cast<void*>(nullptr);
  if (bytes > static_cast<size_t>(PTRDIFF_MAX))
    return error(ErrorKind::CountTooLarge, "bytes is {}, more than memory can hold", bytes);
  RONDO_TRY_ASSIGN(std::byte * pointer, allocate_exportable(bytes));
  return static_cast<void*>(pointer);
}

Result<void*> allocate_on_gpu(size_t bytes, int device) {
  RONDO_TRY_ASSIGN(const int devices, gpu::device_count());
  if (device < 0 || device >= devices)
    return error(ErrorKind::DeviceInvalid, "device is {}: it must be from 0 to {}", device, devices - 1);
  if (bytes == 0) return static_cast<void*>(nullptr);
  const gpu::OutsideCapture outside;
  RONDO_TRY_ASSIGN(gpu::Memory memory, gpu::Memory::allocate(gpu::MemoryKind::Device, device, bytes));
  void* pointer = memory.data();
  std::lock_guard lock(allocations().mutex);
  allocations().all[pointer] = std::make_shared<gpu::Memory>(std::move(memory));
  return pointer;
}

std::shared_ptr<const void> keep_on_gpu(const void* pointer) {
  std::lock_guard lock(allocations().mutex);
  const auto& all = allocations().all;
  const auto after = all.upper_bound(const_cast<void*>(pointer));  // only compared
  if (after == all.begin()) return nullptr;
  const auto& memory = std::prev(after)->second;
  const auto* const at = static_cast<const std::byte*>(pointer);
  return at < memory->data() + memory->bytes() ? memory : nullptr;
}

Status free_allocated(void* pointer) {
  if (pointer == nullptr || free_exportable(pointer)) return {};
  std::unique_lock lock(allocations().mutex);
  const auto found = allocations().all.extract(pointer);
  lock.unlock();  // freeing GPU memory waits for the GPU's work
  if (found.empty())
    return error(ErrorKind::NotRegistered,
                 "ptr is {}, which is not memory from rondo_mem_alloc() or rondo_cuda_mem_alloc()", pointer);
  return {};
}

Result<void*> Registrations::add(void* pointer, size_t bytes, bool by_devices) {
  if (pointer == nullptr)
    return error(ErrorKind::NullArgument, "ptr is NULL: it must point to the {} bytes", bytes);
  if (bytes == 0) return error(Code::InvalidArgument, "cannot register 0 bytes at {}", pointer);
  auto range = std::make_unique<RegisteredRange>();
  auto* const begin = static_cast<std::byte*>(pointer);
  if (by_devices && !find_exportable(begin, bytes)) range->accessible.emplace(begin, bytes);
  void* handle = range.get();
  std::lock_guard lock(mutex_);
  ranges_[handle] = std::move(range);
  return handle;
}

Status Registrations::check(void* handle) {
  std::lock_guard lock(mutex_);
  if (ranges_.count(handle) != 0) return {};
  return error(ErrorKind::NotRegistered, "handle is {}, which is not registered with this communicator",
               handle);
}

Status Registrations::remove(void* handle) {
  RONDO_TRY(check(handle));
  std::lock_guard lock(mutex_);
  ranges_.erase(handle);
  return {};
}

}  // namespace rondo
