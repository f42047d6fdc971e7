// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#include <algorithm>
#include <cstring>

#include "graph.h"
#include "guard.h"
#include "stream.h"

namespace rondo::standin {
namespace {

enum class Place { Device, Pinned, Pageable };

/// Classifies one side of a copy; fails if it begins inside an allocation and extends past its end.
CUresult place_of(uintptr_t address, size_t bytes, Place& place) {
  const Allocation* found = driver().allocations.find(address);
  place = found == nullptr ? Place::Pageable : found->on_host() ? Place::Pinned : Place::Device;
  STANDIN_REQUIRE(found == nullptr || found->holds(address, bytes), CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}

Device* device_of(uintptr_t address) {
  const Allocation* found = driver().allocations.find(address);
  return found == nullptr || found->memory == nullptr ? nullptr : &found->memory->device();
}

struct Copy {
  uintptr_t dst;
  uintptr_t src;
  size_t bytes;
  Place dst_place;
  Place src_place;
};

CUresult plan(Copy& copy) {
  STANDIN_REQUIRE(copy.dst != 0 && copy.src != 0, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(place_of(copy.dst, copy.bytes, copy.dst_place));
  STANDIN_TRY(place_of(copy.src, copy.bytes, copy.src_place));
  return CUDA_SUCCESS;
}

/// Copies within a device count as kernels and wait for their turn.
Operation operation_of(const Copy& copy, Context* context) {
  Device* const from = device_of(copy.src);
  KernelTurn* const turn = from != nullptr && from == device_of(copy.dst) ? &from->turn : nullptr;
  return [copy, context, turn] {
    if (context->failed()) return;
    std::unique_lock<KernelTurn> alone;
    if (turn != nullptr) alone = std::unique_lock(*turn);
    const DeviceAccess access;
    std::memmove(at(copy.dst), at(copy.src), copy.bytes);
  };
}

/// For pageable memory, CUDA allows the call to take as long as the copy; here it always does.
CUresult copy_async(Lock& lock, Copy copy, CUstream handle) {
  StreamPtr stream;
  STANDIN_TRY(find_stream(handle, stream));
  if (copy.bytes == 0) return CUDA_SUCCESS;
  STANDIN_TRY(plan(copy));
  CompletionPtr done;
  STANDIN_TRY(submit(*stream, CU_GRAPH_NODE_TYPE_MEMCPY, operation_of(copy, stream->context), &done));
  const bool staged = copy.dst_place == Place::Pageable || copy.src_place == Place::Pageable;
  if (staged && done != nullptr) wait_unlocked(lock, {done});
  return CUDA_SUCCESS;
}

/// In the legacy stream. The caller does not wait for copies between device memory, as CUDA allows.
CUresult copy_now(Lock& lock, Copy copy) {
  StreamPtr stream;
  STANDIN_TRY(find_stream(nullptr, stream));
  STANDIN_TRY(check_unsafe());
  if (copy.bytes == 0) return CUDA_SUCCESS;
  STANDIN_TRY(plan(copy));
  CompletionPtr done;
  STANDIN_TRY(submit(*stream, CU_GRAPH_NODE_TYPE_MEMCPY, operation_of(copy, stream->context), &done));
  if (copy.dst_place != Place::Device || copy.src_place != Place::Device) wait_unlocked(lock, {done});
  return static_cast<CUresult>(stream->context->error.load());
}

CUresult require_device_use(uintptr_t address) {
  return driver().allocations.find(address) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

template <class T>
CUresult fill(CUdeviceptr dst, T value, size_t count, CUstream handle) {
  StreamPtr stream;
  Context* context = nullptr;
  STANDIN_TRY(use_context(context));
  STANDIN_TRY(find_stream(handle, stream));
  STANDIN_REQUIRE(stream->context == context, CUDA_ERROR_INVALID_HANDLE);
  if (count == 0) return CUDA_SUCCESS;
  const Allocation* found = driver().allocations.find(dst);
  STANDIN_REQUIRE(found != nullptr && found->holds(dst, count * sizeof(T)), CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(dst % sizeof(T) == 0, CUDA_ERROR_INVALID_VALUE);
  return submit(*stream, CU_GRAPH_NODE_TYPE_MEMSET, [context, dst, value, count] {
    if (context->failed()) return;
    const std::lock_guard alone(context->device->turn);
    const DeviceAccess access;
    std::fill_n(at<T>(dst), count, value);
  });
}

uintptr_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return call(__func__, [&](Lock& lock) { return copy_now(lock, {dst, src, bytes, {}, {}}); });
}

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void* src, size_t bytes) {
  return call(__func__, [&](Lock& lock) {
    if (bytes != 0) STANDIN_TRY(require_device_use(dst));
    return copy_now(lock, {dst, address(src), bytes, {}, {}});
  });
}

CUresult cuMemcpyDtoH(void* dst, CUdeviceptr src, size_t bytes) {
  return call(__func__, [&](Lock& lock) {
    if (bytes != 0) STANDIN_TRY(require_device_use(src));
    return copy_now(lock, {address(dst), src, bytes, {}, {}});
  });
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return call(__func__, [&](Lock& lock) { return copy_async(lock, {dst, src, bytes, {}, {}}, stream); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream) {
  return call(__func__, [&](Lock& lock) {
    if (bytes != 0) STANDIN_TRY(require_device_use(dst));
    return copy_async(lock, {dst, address(src), bytes, {}, {}}, stream);
  });
}

CUresult cuMemcpyDtoHAsync(void* dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return call(__func__, [&](Lock& lock) {
    if (bytes != 0) STANDIN_TRY(require_device_use(src));
    return copy_async(lock, {address(dst), src, bytes, {}, {}}, stream);
  });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return call(__func__, [&](Lock& lock) {
    if (bytes != 0) STANDIN_TRY(require_device_use(dst));
    if (bytes != 0) STANDIN_TRY(require_device_use(src));
    return copy_async(lock, {dst, src, bytes, {}, {}}, stream);
  });
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream) {
  return call(__func__, [&](Lock&) { return fill(dst, value, count, stream); });
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream) {
  return call(__func__, [&](Lock&) { return fill(dst, value, count, stream); });
}
