// SPDX-License-Identifier: Apache-2.0
// Compares the binding's types and functions with NVIDIA's own header: a difference does not compile. main()
// exists only so that the test can be run.
#include <nccl.h>
#include <nccl_device.h>

#include <cstddef>
#include <cstdio>
#include <type_traits>

// Names that the header defines as macros or that the binding uses as well.
#undef ncclResetDebugInit
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace ours {
#include "nccl_functions.h"
#include "nccl_types.h"
#define TYPE(result, name, parameters) using name = result parameters;
RONDO_NCCL_FUNCTIONS(TYPE)
}  // namespace ours

namespace {

/// Whether values of the two types are passed in the same way.
template <typename A, typename B>
constexpr bool alike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else if constexpr (std::is_class_v<A> || std::is_class_v<B>)
    return std::is_class_v<A> && std::is_class_v<B> && sizeof(A) == sizeof(B) && alignof(A) == alignof(B) &&
           std::is_trivially_copyable_v<A> && std::is_trivially_copyable_v<B>;
  else
    return std::is_pointer_v<A> == std::is_pointer_v<B> && sizeof(A) == sizeof(B) &&
           std::is_floating_point_v<A> == std::is_floating_point_v<B>;
}

template <typename A, typename B>
struct Same : std::false_type {};
template <typename A, typename... As, typename B, typename... Bs>
requires(sizeof...(As) == sizeof...(Bs)) struct Same<A(As...), B(Bs...)>
    : std::bool_constant<(alike<A, B>() && ... && alike<As, Bs>())> {
};

#define SIZE(name) static_assert(sizeof(ours::name) >= sizeof(::name))
SIZE(ncclConfig_t);
SIZE(ncclSimInfo_t);
static_assert(sizeof(ours::ncclUniqueId) == sizeof(::ncclUniqueId));
static_assert(sizeof(ours::ncclTeam_t) == sizeof(::ncclTeam_t));

#define FIELD(type, name) static_assert(offsetof(ours::type, name) == offsetof(::type, name))
FIELD(ncclConfig_t, magic);
FIELD(ncclConfig_t, version);
FIELD(ncclConfig_t, blocking);
FIELD(ncclConfig_t, cgaClusterSize);
FIELD(ncclConfig_t, minCTAs);
FIELD(ncclConfig_t, maxCTAs);
FIELD(ncclConfig_t, netName);
FIELD(ncclConfig_t, splitShare);
FIELD(ncclSimInfo_t, magic);
FIELD(ncclSimInfo_t, version);
FIELD(ncclSimInfo_t, estimatedTime);
FIELD(ncclTeam_t, nRanks);
FIELD(ncclTeam_t, rank);
FIELD(ncclTeam_t, stride);
#if NCCL_VERSION_CODE >= 22700
FIELD(ncclConfig_t, trafficClass);
FIELD(ncclConfig_t, commName);
FIELD(ncclConfig_t, collnetEnable);
FIELD(ncclConfig_t, CTAPolicy);
FIELD(ncclConfig_t, shrinkShare);
FIELD(ncclConfig_t, nvlsCTAs);
#endif
#if NCCL_VERSION_CODE >= 22800
FIELD(ncclConfig_t, nChannelsPerNetPeer);
FIELD(ncclConfig_t, nvlinkCentricSched);
#endif

#define VALUE(name) static_assert(static_cast<int>(ours::name) == static_cast<int>(::name))
VALUE(ncclSuccess);
VALUE(ncclUnhandledCudaError);
VALUE(ncclSystemError);
VALUE(ncclInternalError);
VALUE(ncclInvalidArgument);
VALUE(ncclInvalidUsage);
VALUE(ncclRemoteError);
VALUE(ncclInProgress);
#define TYPE_VALUE(name, type) VALUE(name);
RONDO_NCCL_TYPES(TYPE_VALUE)
VALUE(ncclSum);
VALUE(ncclProd);
VALUE(ncclMax);
VALUE(ncclMin);
VALUE(ncclAvg);
VALUE(ncclScalarDevice);
VALUE(ncclScalarHostImmediate);
constexpr ::ncclConfig_t kConfig = NCCL_CONFIG_INITIALIZER;
constexpr ::ncclSimInfo_t kSimInfo = NCCL_SIM_INFO_INITIALIZER;
static_assert(ours::rondo::nccl::kMagic == kConfig.magic);
static_assert(ours::rondo::nccl::kUndefined == NCCL_CONFIG_UNDEF_INT);
static_assert(ours::rondo::nccl::kNoColor == NCCL_SPLIT_NOCOLOR);
#if NCCL_VERSION_CODE >= 22700
static_assert(ours::rondo::nccl::kShrinkAbort == NCCL_SHRINK_ABORT);
#endif
static_assert(ours::rondo::nccl::kSimMagic == kSimInfo.magic);

#if NCCL_VERSION_CODE >= 22900
SIZE(ncclCommProperties_t);
FIELD(ncclCommProperties_t, rank);
FIELD(ncclCommProperties_t, nRanks);
FIELD(ncclCommProperties_t, cudaDev);
FIELD(ncclCommProperties_t, nvmlDev);
FIELD(ncclCommProperties_t, deviceApiSupport);
FIELD(ncclCommProperties_t, multimemSupport);
FIELD(ncclCommProperties_t, ginType);
FIELD(ncclCommProperties_t, nLsaTeams);
FIELD(ncclConfig_t, graphUsageMode);
FIELD(ncclConfig_t, numRmaCtx);
FIELD(ncclWaitSignalDesc_t, opCnt);
FIELD(ncclWaitSignalDesc_t, peer);
FIELD(ncclWaitSignalDesc_t, sigIdx);
FIELD(ncclWaitSignalDesc_t, ctx);
VALUE(ncclStatGpuMemSuspend);
VALUE(ncclStatGpuMemSuspended);
VALUE(ncclStatGpuMemPersist);
VALUE(ncclStatGpuMemTotal);
#endif
#if NCCL_VERSION_CODE >= 23000
static_assert(sizeof(ours::ncclConfig_t) == sizeof(::ncclConfig_t));
static_assert(sizeof(ours::ncclCommProperties_t) == sizeof(::ncclCommProperties_t));
FIELD(ncclConfig_t, maxP2pPeers);
FIELD(ncclConfig_t, graphStreamOrdering);
FIELD(ncclCommProperties_t, hostRmaSupport);
FIELD(ncclCommProperties_t, railedGinType);
VALUE(ncclTimeout);
#endif

// COMPARE(name) for every function in this header.
#define COMPARE(name) static_assert(Same<decltype(::nccl##name), ours::name>::value, "nccl" #name);
#include "header_functions.inc"

#define ONE(name) +1
constexpr int kCompared = 0
#undef COMPARE
#define COMPARE ONE
#include "header_functions.inc"
    ;

}  // namespace

int main() {
  std::printf("%d functions have the types of NCCL %d\n", kCompared, NCCL_VERSION_CODE);
  return 0;
}
