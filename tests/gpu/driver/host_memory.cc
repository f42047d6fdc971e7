// SPDX-License-Identifier: Apache-2.0
// Host memory that is accessible to devices.
#include <cstring>

#include "graph.h"
#include "stream.h"

namespace rondo::standin {
namespace {

constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

CUresult allocate(void** pointer, size_t bytes) {
  Context* context = nullptr;
  STANDIN_TRY(use_context(context));
  STANDIN_REQUIRE(pointer != nullptr && bytes != 0, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(check_unsafe());
  Allocation made;
  made.mapping = Mapping::of_host(round_up(bytes, kPage));
  STANDIN_REQUIRE(!made.mapping.null(), CUDA_ERROR_OUT_OF_MEMORY);
  std::memset(made.mapping.begin(), kPoison, made.mapping.bytes());
  made.kind = Allocation::Kind::Host;
  made.base = reinterpret_cast<uintptr_t>(made.mapping.begin());
  made.bytes = bytes;
  made.context = context;
  *pointer = at(driver().allocations.add(std::move(made)).base);
  return CUDA_SUCCESS;
}

CUresult remove(Lock& lock, void* pointer, Allocation::Kind kind, CUresult otherwise) {
  Context* context = nullptr;
  const CUresult usable = use_context(context);
  if (context != nullptr && context->failed()) wait_unlocked(lock, work_of(*context));
  STANDIN_TRY(usable);
  STANDIN_TRY(check_unsafe());
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  STANDIN_REQUIRE(driver().allocations.at(base, kind) != nullptr, otherwise);
  wait_unlocked(lock, work_of(*context));
  STANDIN_REQUIRE(driver().allocations.at(base, kind) != nullptr, otherwise);
  driver().allocations.take(base);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE((flags & ~kAllocFlags) == 0, CUDA_ERROR_INVALID_VALUE);
    return allocate(pointer, bytes);
  });
}

CUresult cuMemAllocHost(void** pointer, size_t bytes) {
  return call(__func__, [&](Lock&) { return allocate(pointer, bytes); });
}

CUresult cuMemFreeHost(void* pointer) {
  return call(__func__, [&](Lock& lock) {
    return remove(lock, pointer, Allocation::Kind::Host, CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_REQUIRE(pointer != nullptr && bytes != 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE((flags & ~kRegisterFlags) == 0, CUDA_ERROR_NOT_SUPPORTED);
    STANDIN_TRY(check_unsafe());
    Allocation made;
    made.kind = Allocation::Kind::Registered;
    made.base = reinterpret_cast<uintptr_t>(pointer);
    made.bytes = bytes;
    made.context = context;
    STANDIN_REQUIRE(!driver().allocations.overlaps(made.base, bytes),
                    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    driver().allocations.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void* pointer) {
  return call(__func__, [&](Lock& lock) {
    return remove(lock, pointer, Allocation::Kind::Registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* device_pointer, void* pointer, unsigned flags) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_REQUIRE(device_pointer != nullptr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const Allocation* found = driver().allocations.find(address);
    STANDIN_REQUIRE(found != nullptr && found->on_host(), CUDA_ERROR_INVALID_VALUE);
    *device_pointer = address;
    return CUDA_SUCCESS;
  });
}
