// The driver's functions, looked up at run time. Which of an ABI's versions is meant, cuda.h's macros say,
// except where an older version does, so that a driver of CUDA 12.0 has all of them.
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

/// What benchmarks and tests need. Where the driver lacks one, it answers CUDA_ERROR_NOT_SUPPORTED.
#define RONDO_OPTIONAL_DRIVER_FUNCTIONS(X) \
  X(cuStreamBeginCapture)                  \
  X(cuStreamEndCapture)                    \
  X(cuGraphInstantiate)                    \
  X(cuGraphLaunch)                         \
  X(cuGraphDestroy)                        \
  X(cuGraphExecDestroy)                    \
  X(cuMemAllocManaged)

struct Driver {
#define X(name) decltype(&::name) name = nullptr;
  RONDO_DRIVER_FUNCTIONS(X)
  RONDO_OPTIONAL_DRIVER_FUNCTIONS(X)
#undef X
  /// Of CUDA 11.3; what later versions add is about edges.
  CUresult (*cuStreamGetCaptureInfo_v2)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                                        const CUgraphNode**, size_t*) = nullptr;
  /// Without a suffix in the driver; optional as well.
  CUresult (*cuEventElapsedTime_v1)(float*, CUevent, CUevent) = nullptr;
};

/// Loads and initialises the driver the first time; Unsupported, with the reason, where that fails.
Result<const Driver*> driver();

/// As the driver wants addresses.
inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// Ok for CUDA_SUCCESS; else what failed, on which GPU where Current says so, and CUDA's own words.
Status outcome(CUresult result, const char* what);

}  // namespace rondo::gpu
