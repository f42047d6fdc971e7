// SPDX-License-Identifier: Apache-2.0
// Device and managed memory.
#include <cstring>

#include "graph.h"
#include "guard.h"
#include "stream.h"

namespace rondo::standin {
namespace {

constexpr size_t kLargeBytes = size_t{1} << 20;
constexpr size_t kSmallOffset = 512;  // all that is guaranteed about a small allocation's alignment

CUresult allocate(Lock& lock, CUdeviceptr* pointer, size_t bytes, Allocation::Kind kind) {
  Context* context = nullptr;
  STANDIN_TRY(use_context(context));
  STANDIN_REQUIRE(pointer != nullptr && bytes != 0, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(check_unsafe());
  STANDIN_REQUIRE(bytes <= driver().settings.memory_bytes, CUDA_ERROR_OUT_OF_MEMORY);
  const size_t offset = bytes < kLargeBytes ? kSmallOffset : 0;
  const uint64_t number = driver().next_id();
  lock.unlock();
  auto memory = DeviceMemory::create(*context->device, number, round_up(offset + bytes, kPage));
  Mapping mapping = memory == nullptr ? Mapping() : Mapping::of(*memory);
  if (!mapping.null()) std::memset(mapping.begin(), kPoison, mapping.bytes());
  lock.lock();
  STANDIN_REQUIRE(!mapping.null(), CUDA_ERROR_OUT_OF_MEMORY);
  Allocation made;
  made.kind = kind;
  made.base = reinterpret_cast<uintptr_t>(mapping.begin()) + offset;
  made.bytes = bytes;
  made.context = context;
  made.memory = std::move(memory);
  made.mapping = std::move(mapping);
  const Allocation& added = driver().allocations.add(std::move(made));
  protect(added);
  *pointer = added.base;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  return call(__func__, [&](Lock& lock) { return allocate(lock, pointer, bytes, Allocation::Kind::Device); });
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned flags) {
  return call(__func__, [&](Lock& lock) {
    STANDIN_REQUIRE(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST, CUDA_ERROR_INVALID_VALUE);
    return allocate(lock, pointer, bytes, Allocation::Kind::Managed);
  });
}

CUresult cuMemFree(CUdeviceptr pointer) {
  return call(__func__, [&](Lock& lock) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    if (pointer == 0) return CUDA_SUCCESS;
    STANDIN_TRY(check_unsafe());
    Allocations& all = driver().allocations;
    const auto found = [&] {
      Allocation* device = all.at(pointer, Allocation::Kind::Device);
      return device != nullptr ? device : all.at(pointer, Allocation::Kind::Managed);
    };
    STANDIN_REQUIRE(found() != nullptr, CUDA_ERROR_INVALID_VALUE);
    wait_unlocked(lock, work_of(*found()->context));
    STANDIN_REQUIRE(found() != nullptr, CUDA_ERROR_INVALID_VALUE);
    const Allocation freed = all.take(pointer);
    if (freed.exported) freed.memory->destroy();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_REQUIRE(free_bytes != nullptr && total_bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(use_context(context));
    *total_bytes = driver().settings.memory_bytes;
    *free_bytes = *total_bytes - context->device->used_bytes;
    return CUDA_SUCCESS;
  });
}
