// SPDX-License-Identifier: Apache-2.0
// Registration of user memory with a communicator.
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/error_kinds.h"
#include "base/log.h"
#include "call/check.h"
#include "comm/communicator.h"
#include "gpu/ipc.h"
#include "gpu/memory.h"
#include "gpu_calls.h"

namespace rondo {
namespace {

using Kind = gpu::Place::Kind;

/// Whether the address is mapped in this process.
bool is_mapped(const std::byte* at) {
  std::byte byte{};
  const iovec to{&byte, 1};
  const iovec from{const_cast<std::byte*>(at), 1};  // read only
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

Status check_host_memory(const std::byte* at, size_t bytes) {
  if (is_mapped(at) && is_mapped(at + bytes - 1)) return {};
  return error(ErrorKind::NotRegistered,
               "{} bytes at {} are neither memory of this process nor of a GPU; were they freed?", bytes,
               static_cast<const void*>(at));
}

Status check_gpu_memory(const std::byte* at, size_t bytes, int memory_device, int device) {
  const auto* const pointer = static_cast<const void*>(at);
  if (device < 0)
    return error(ErrorKind::RankWithoutGpu, "{} is memory of GPU {}, but the rank uses no GPU", pointer,
                 memory_device);
  if (memory_device != device)
    return error(ErrorKind::MemoryOfOtherGpu, "{} is memory of GPU {}, but the rank uses GPU {}", pointer,
                 memory_device, device);
  RONDO_TRY_ASSIGN(const gpu::Allocation all, gpu::allocation_of(at, device));
  const size_t left = static_cast<size_t>(all.base + all.bytes - at);
  if (bytes <= left) return {};
  return error(ErrorKind::NotRegistered, "bytes is {}, but the allocation of {} ends after {}", bytes,
               pointer, left);
}

}  // namespace

Result<void*> Communicator::register_memory(void* pointer, size_t bytes) {
  auto* const at = static_cast<std::byte*>(pointer);
  RONDO_TRY_ASSIGN(const gpu::Place place, place_for(pointer, membership_->device()));
  if (pointer != nullptr && bytes != 0) {
    if (place.kind == Kind::Pageable) RONDO_TRY(check_host_memory(at, bytes));
    if (place.kind == Kind::Device)
      RONDO_TRY(check_gpu_memory(at, bytes, place.device, membership_->device()));
  }
  const bool is_host = place.kind == Kind::Pageable || place.kind == Kind::Pinned;
  RONDO_TRY_ASSIGN(void* handle, registrations_.add(pointer, bytes, is_host));
  StagedExecutor* const staged = gpu_calls_->staged();
  if (staged == nullptr || place.kind != Kind::Device) return handle;
  if (place.plain)
    staged->open_window(handle, at, bytes, keep_on_gpu(at));
  else
    log().info(
        "rank {}: {} bytes at {} are memory of a pool or mapped by hand, which peers cannot read in place",
        rank(), bytes, pointer);
  return handle;
}

Status Communicator::deregister_memory(void* handle) {
  RONDO_TRY(registrations_.check(handle));
  if (StagedExecutor* const staged = gpu_calls_->staged()) RONDO_TRY(staged->close_window(handle));
  return registrations_.remove(handle);
}

}  // namespace rondo
