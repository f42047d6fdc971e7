// SPDX-License-Identifier: Apache-2.0
#include "gpu/offered_memory.h"

#include <utility>

namespace rondo::gpu {

Result<OfferedMemory> OfferedMemory::show(SharedSegment segment, int device) {
  OfferedMemory memory;
  memory.on_host_ = std::move(segment);
  RONDO_TRY_ASSIGN(memory.window_, HostWindow::open(device, memory.on_host_.data(), memory.on_host_.bytes()));
  return memory;
}

Result<OfferedMemory::Made> OfferedMemory::make(bool on_host, int device, size_t bytes) {
  if (on_host) {
    RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes));
    RONDO_TRY_ASSIGN(OfferedMemory memory, show(std::move(made.segment), device));
    return Made{std::move(memory), std::move(made.memfd)};
  }
  RONDO_TRY_ASSIGN(SharedMemory memory, SharedMemory::create(device, bytes));
  RONDO_TRY_ASSIGN(Fd descriptor, memory.exported());
  return Made{OfferedMemory(std::move(memory)), std::move(descriptor)};
}

Result<OfferedMemory> OfferedMemory::open(bool on_host, int device, const Fd& descriptor,
                                          size_t offered_bytes, size_t bytes) {
  if (offered_bytes < bytes)
    return error(Code::RemoteError, "{} bytes of memory are offered; {} are needed", offered_bytes, bytes);
  if (on_host) {
    RONDO_TRY_ASSIGN(SharedSegment segment, SharedSegment::map(descriptor, offered_bytes));
    return show(std::move(segment), device);
  }
  RONDO_TRY_ASSIGN(SharedMemory memory, SharedMemory::open(descriptor, offered_bytes, device));
  return OfferedMemory(std::move(memory));
}

}  // namespace rondo::gpu
