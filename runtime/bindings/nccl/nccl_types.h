// SPDX-License-Identifier: Apache-2.0
// The ABI between libnccl.so.2 and its callers: NCCL's types, with their memory layout on x86-64. Written
// from NCCL's documentation; tests/nccl compares it with NVIDIA's own header if that is installed.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

struct ncclComm;
struct ncclWindow_vidmem;
struct ncclParamHandle;
struct CUstream_st;
using ncclComm_t = ncclComm*;
using ncclWindow_t = ncclWindow_vidmem*;
using ncclParamHandle_t = ncclParamHandle*;
using cudaStream_t = CUstream_st*;

struct ncclUniqueId {
  char internal[128];
};

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8,  // since 2.30
};

// The element types in the order of their numbers, and Rondo's: X(name, rondo_type_t)
#define RONDO_NCCL_TYPES(X)            \
  X(ncclInt8, RONDO_INT8)              \
  X(ncclUint8, RONDO_UINT8)            \
  X(ncclInt32, RONDO_INT32)            \
  X(ncclUint32, RONDO_UINT32)          \
  X(ncclInt64, RONDO_INT64)            \
  X(ncclUint64, RONDO_UINT64)          \
  X(ncclFloat16, RONDO_FLOAT16)        \
  X(ncclFloat32, RONDO_FLOAT32)        \
  X(ncclFloat64, RONDO_FLOAT64)        \
  X(ncclBfloat16, RONDO_BFLOAT16)      \
  X(ncclFloat8e4m3, RONDO_FLOAT8_E4M3) \
  X(ncclFloat8e5m2, RONDO_FLOAT8_E5M2)

enum ncclDataType_t : int {
#define X(name, type) name,
  RONDO_NCCL_TYPES(X)
#undef X
};

enum ncclRedOp_t : int { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 };

enum ncclScalarResidence_t : int { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 };

enum ncclCommMemStat_t : int {
  ncclStatGpuMemSuspend = 0,
  ncclStatGpuMemSuspended = 1,
  ncclStatGpuMemPersist = 2,
  ncclStatGpuMemTotal = 3,
};

/// `size` is the length of the caller's version of this struct.
struct ncclConfig_t {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
  int graphUsageMode;
  int numRmaCtx;
  int maxP2pPeers;
  int graphStreamOrdering;
};

struct ncclSimInfo_t {
  size_t size;
  unsigned magic;
  unsigned version;
  float estimatedTime;
};

struct ncclWaitSignalDesc_t {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
};

struct ncclCommProperties_t {
  size_t size;
  unsigned magic;
  unsigned version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport;
  bool multimemSupport;
  int ginType;
  int nLsaTeams;
  bool hostRmaSupport;
  int railedGinType;
};

struct ncclTeam_t {
  int nRanks;
  int rank;
  int stride;
};

// Device API: only pointers to these types are used here, and two small structs passed by value.
struct ncclDevComm_t;
struct ncclDevCommRequirements_t;
struct ncclDevResourceRequirements_t;
struct ncclLsaBarrierHandle_t;
struct ncclGinBarrierHandle_t;
struct ncclLLA2AHandle_t;
struct ncclGinOutboxHandle;
struct ncclGinInboxA2AHandle;
struct ncclMultimemHandle_t {
  void* mcBasePtr;
};

namespace rondo::nccl {

inline constexpr unsigned kMagic = 0xcafebeef;
inline constexpr unsigned kSimMagic = 0x74685283;
inline constexpr int kUndefined = INT_MIN;
inline constexpr int kNoColor = -1;
inline constexpr int kShrinkAbort = 1;

}  // namespace rondo::nccl
