// SPDX-License-Identifier: Apache-2.0
// The driver's functions, looked up at run time. cuda.h's macros select the ABI version of each, unless an
// older version suffices, so that a CUDA 12.0 driver has all of them.
#pragma once

#include <cuda.h>

#include "base/status.h"

namespace rondo::gpu {

#define RONDO_DRIVER_FUNCTIONS(X)                \
  X(cuInit)                                      \
  X(cuDriverGetVersion)                          \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetUuid)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceCanAccessPeer)                       \
  X(cuDeviceGetP2PAttribute)                     \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuCtxGetCurrent)                             \
  X(cuCtxGetDevice)                              \
  X(cuCtxGetId)                                  \
  X(cuCtxPushCurrent)                            \
  X(cuCtxPopCurrent)                             \
  X(cuCtxEnablePeerAccess)                       \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamGetCtx)                              \
  X(cuStreamSynchronize)                         \
  X(cuStreamWaitEvent)                           \
  X(cuStreamBatchMemOp)                          \
  X(cuThreadExchangeStreamCaptureMode)           \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecord)                               \
  X(cuEventQuery)                                \
  X(cuEventSynchronize)                          \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemHostAlloc)                              \
  X(cuMemFreeHost)                               \
  X(cuMemHostRegister)                           \
  X(cuMemHostUnregister)                         \
  X(cuMemHostGetDevicePointer)                   \
  X(cuMemGetAllocationGranularity)               \
  X(cuMemCreate)                                 \
  X(cuMemRelease)                                \
  X(cuMemAddressReserve)                         \
  X(cuMemAddressFree)                            \
  X(cuMemMap)                                    \
  X(cuMemUnmap)                                  \
  X(cuMemSetAccess)                              \
  X(cuMemExportToShareableHandle)                \
  X(cuMemImportFromShareableHandle)              \
  X(cuMemcpy)                                    \
  X(cuMemcpyAsync)                               \
  X(cuMemsetD8Async)                             \
  X(cuPointerGetAttributes)                      \
  X(cuMemGetAddressRange)                        \
  X(cuIpcGetMemHandle)                           \
  X(cuIpcOpenMemHandle)                          \
  X(cuIpcCloseMemHandle)                         \
  X(cuLibraryLoadData)                           \
  X(cuLibraryGetKernel)                          \
  X(cuLinkCreate)                                \
  X(cuLinkAddData)                               \
  X(cuLinkComplete)                              \
  X(cuLinkDestroy)                               \
  X(cuKernelGetFunction)                         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernelEx)

/// Needed by GPUDirect RDMA, benchmarks and tests. If the driver lacks one, a stub returns
/// CUDA_ERROR_NOT_SUPPORTED.
#define RONDO_OPTIONAL_DRIVER_FUNCTIONS(X) \
  X(cuStreamBeginCapture)                  \
  X(cuStreamEndCapture)                    \
  X(cuGraphInstantiate)                    \
  X(cuGraphLaunch)                         \
  X(cuGraphDestroy)                        \
  X(cuGraphExecDestroy)                    \
  X(cuMemAllocManaged)                     \
  X(cuMemGetHandleForAddressRange)         \
  X(cuFlushGPUDirectRDMAWrites)

struct Driver {
#define X(name) decltype(&::name) name = nullptr;
  RONDO_DRIVER_FUNCTIONS(X)
  RONDO_OPTIONAL_DRIVER_FUNCTIONS(X)
#undef X
  /// The version of CUDA 11.3; later ones only add edge data.
  CUresult (*cuStreamGetCaptureInfo_v2)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                                        const CUgraphNode**, size_t*) = nullptr;
  /// Has no suffix in the driver; also optional.
  CUresult (*cuEventElapsedTime_v1)(float*, CUevent, CUevent) = nullptr;
};

/// Loads and initializes the driver on first use; Unsupported, with the reason, if that fails.
Result<const Driver*> driver();

/// A pointer in the driver's address type.
inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// Ok for CUDA_SUCCESS; else an error with what failed, the GPU (if Current is set), and CUDA's own words.
Status outcome(CUresult result, const char* what);

}  // namespace rondo::gpu
