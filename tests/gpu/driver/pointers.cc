// SPDX-License-Identifier: Apache-2.0
// What the driver knows about an address.
#include <cstring>

#include "driver.h"

namespace rondo::standin {
namespace {

using Kind = Allocation::Kind;

template <class T>
CUresult say(void* out, T value) {
  *static_cast<T*>(out) = value;
  return CUDA_SUCCESS;
}

int handle_types(const Allocation& allocation) {
  return allocation.kind == Kind::Virtual ? static_cast<int>(allocation.prop.requestedHandleTypes) : 0;
}

CUresult tell(const Allocation& allocation, uintptr_t address, CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return say(out, allocation.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return say(out, allocation.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return say(out, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!allocation.on_host() && allocation.kind != Kind::Managed) return CUDA_ERROR_INVALID_VALUE;
      return say(out, address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return say(out, static_cast<unsigned long long>(allocation.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return say(out, unsigned{allocation.kind == Kind::Managed});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return say(out, allocation.ordinal());
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return say(out, unsigned{allocation.kind == Kind::Device});
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return say(out, allocation.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return say(out, allocation.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return say(out, unsigned{1});
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return say(out, handle_types(allocation));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return say(out, unsigned{0});
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return say(out, CUmemoryPool{nullptr});
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

size_t size_of(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return 8;
    default: return 4;
  }
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return call(__func__, [&](Lock&) {
    const Allocation* found = driver().allocations.find(pointer);
    STANDIN_REQUIRE(data != nullptr && found != nullptr, CUDA_ERROR_INVALID_VALUE);
    return tell(*found, pointer, attribute, data);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(attributes != nullptr && data != nullptr, CUDA_ERROR_INVALID_VALUE);
    const Context* const context = current_context();
    if (context != nullptr) STANDIN_TRY(static_cast<CUresult>(context->error.load()));
    const Allocation* found = driver().allocations.find(pointer);
    for (unsigned i = 0; i < count; ++i) {
      std::memset(data[i], 0, size_of(attributes[i]));
      if (found == nullptr && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) say(data[i], -2);
      if (found != nullptr) tell(*found, pointer, attributes[i], data[i]);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    const Allocation* found = driver().allocations.find(pointer);
    STANDIN_REQUIRE(found != nullptr, CUDA_ERROR_NOT_FOUND);
    if (base != nullptr) *base = found->base;
    if (bytes != nullptr) *bytes = found->bytes;
    return CUDA_SUCCESS;
  });
}
