// SPDX-License-Identifier: Apache-2.0
// Memory and its registration; windows, which are not supported.
#include "comm.h"
#include "config.h"

namespace rondo::nccl {
namespace {

Outcome allocate(void** pointer, size_t bytes) {
  if (pointer == nullptr) return null_argument("ptr");
  int device = -1;
  if (device_of_thread() != "host") rondo_current_device(&device);
  return outcome_of(device >= 0 ? rondo_cuda_mem_alloc(pointer, bytes, device)
                                : rondo_mem_alloc(pointer, bytes));
}

/// As NCCL does if memory cannot be a window; programs then continue without one.
Outcome no_window(ncclWindow_t* window) {
  if (window == nullptr) return null_argument("win");
  *window = nullptr;
  return {};
}

Outcome refuse_window(const void* window) {
  if (window == nullptr) return {};
  return wrong(ncclInvalidArgument, "win is {}, but this library makes no windows", window);
}

Outcome no_pointer(const void* window, void** pointer) {
  if (pointer == nullptr) return null_argument("outPtr");
  *pointer = nullptr;
  RONDO_NCCL_TRY(refuse_window(window));
  return wrong(ncclInvalidArgument,
               "window is NULL: Rondo has no windows, so it cannot return pointers to peers' memory");
}

Outcome no_signals() {
  return wrong(ncclInvalidUsage, "one-sided calls need windows, which this library does not make");
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  return guarded("ncclMemAlloc", nullptr, [&] { return allocate(ptr, size); });
}

ncclResult_t ncclMemFree(void* ptr) {
  return guarded("ncclMemFree", nullptr, [&] { return outcome_of(rondo_mem_free(ptr)); });
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return with("ncclCommRegister", comm, [&](ncclComm& known) {
    return outcome_of(rondo_register(known.comm, buff, size, handle), known.comm);
  });
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return with_any("ncclCommDeregister", comm, [&](ncclComm& known) -> Outcome {
    if (known.comm == nullptr) return check_ready(known);
    return outcome_of(rondo_deregister(known.comm, handle), known.comm);
  });
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void*, size_t, ncclWindow_t* window, int) {
  return with("ncclCommWindowRegister", comm, [&](ncclComm&) { return no_window(window); });
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return with_any("ncclCommWindowDeregister", comm, [&](ncclComm&) { return refuse_window(window); });
}

ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void** pointer) {
  return with_any("ncclWinGetUserPtr", comm, [&](ncclComm&) { return no_pointer(window, pointer); });
}

ncclResult_t ncclPutSignal(const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int, unsigned,
                           ncclComm_t comm, cudaStream_t) {
  return with("ncclPutSignal", comm, [](ncclComm&) { return no_signals(); });
}

ncclResult_t ncclSignal(int, int, int, unsigned, ncclComm_t comm, cudaStream_t) {
  return with("ncclSignal", comm, [](ncclComm&) { return no_signals(); });
}

ncclResult_t ncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t comm, cudaStream_t) {
  return with("ncclWaitSignal", comm, [](ncclComm&) { return no_signals(); });
}

ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t, void** pointer) {
  return guarded("ncclGetLsaMultimemDevicePointer", nullptr, [&] { return no_pointer(window, pointer); });
}

ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t, ncclMultimemHandle_t, void** pointer) {
  return guarded("ncclGetMultimemDevicePointer", nullptr, [&] { return no_pointer(window, pointer); });
}

ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t, int, void** pointer) {
  return guarded("ncclGetLsaDevicePointer", nullptr, [&] { return no_pointer(window, pointer); });
}

ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t, int, void** pointer) {
  return guarded("ncclGetPeerDevicePointer", nullptr, [&] { return no_pointer(window, pointer); });
}

RONDO_NCCL_ALIAS(MemAlloc);
RONDO_NCCL_ALIAS(MemFree);
RONDO_NCCL_ALIAS(CommRegister);
RONDO_NCCL_ALIAS(CommDeregister);
RONDO_NCCL_ALIAS(CommWindowRegister);
RONDO_NCCL_ALIAS(CommWindowDeregister);
RONDO_NCCL_ALIAS(WinGetUserPtr);
RONDO_NCCL_ALIAS(PutSignal);
RONDO_NCCL_ALIAS(Signal);
RONDO_NCCL_ALIAS(WaitSignal);
RONDO_NCCL_ALIAS(GetLsaMultimemDevicePointer);
RONDO_NCCL_ALIAS(GetMultimemDevicePointer);
RONDO_NCCL_ALIAS(GetLsaDevicePointer);
RONDO_NCCL_ALIAS(GetPeerDevicePointer);
