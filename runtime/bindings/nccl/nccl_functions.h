// SPDX-License-Identifier: Apache-2.0
// Every function of NCCL's C API up to 2.30, including the host functions of its device API:
// X(result, name without its prefix, parameters).
#pragma once

#define RONDO_NCCL_BUFFERS const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype
#define RONDO_NCCL_ON ncclComm_t comm, cudaStream_t stream
#define RONDO_NCCL_WINDOW ncclWindow_t window, size_t offset
#define RONDO_NCCL_NEEDS ncclDevResourceRequirements_t* needs

#define RONDO_NCCL_FUNCTIONS(X)                                                                            \
  X(ncclResult_t, GetVersion, (int* version))                                                              \
  X(ncclResult_t, GetUniqueId, (ncclUniqueId * id))                                                        \
  X(const char*, GetErrorString, (ncclResult_t result))                                                    \
  X(const char*, GetLastError, (ncclComm_t comm))                                                          \
  X(void, ResetDebugInit, ())                                                                              \
  X(void, ResetDebugInitInternal, ())                                                                      \
  X(ncclResult_t, CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))                \
  X(ncclResult_t, CommInitRankConfig,                                                                      \
    (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t* config))                      \
  X(ncclResult_t, CommInitRankScalable,                                                                    \
    (ncclComm_t * comm, int nranks, int rank, int nids, ncclUniqueId* ids, ncclConfig_t* config))          \
  X(ncclResult_t, CommInitAll, (ncclComm_t * comms, int nranks, const int* devices))                       \
  X(ncclResult_t, CommFinalize, (ncclComm_t comm))                                                         \
  X(ncclResult_t, CommDestroy, (ncclComm_t comm))                                                          \
  X(ncclResult_t, CommAbort, (ncclComm_t comm))                                                            \
  X(ncclResult_t, CommRevoke, (ncclComm_t comm, int flags))                                                \
  X(ncclResult_t, CommSplit,                                                                               \
    (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config))                      \
  X(ncclResult_t, CommShrink,                                                                              \
    (ncclComm_t comm, int* excluded, int nexcluded, ncclComm_t* newcomm, ncclConfig_t* config, int flags)) \
  X(ncclResult_t, CommGetUniqueId, (ncclComm_t comm, ncclUniqueId * id))                                   \
  X(ncclResult_t, CommGrow,                                                                                \
    (ncclComm_t comm, int nranks, const ncclUniqueId* id, int rank, ncclComm_t* newcomm,                   \
     ncclConfig_t* config))                                                                                \
  X(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))                              \
  X(ncclResult_t, CommCount, (const ncclComm_t comm, int* count))                                          \
  X(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device))                                      \
  X(ncclResult_t, CommUserRank, (const ncclComm_t comm, int* rank))                                        \
  X(ncclResult_t, CommQueryProperties, (ncclComm_t comm, ncclCommProperties_t * properties))               \
  X(ncclResult_t, CommSuspend, (ncclComm_t comm, int flags))                                               \
  X(ncclResult_t, CommResume, (ncclComm_t comm))                                                           \
  X(ncclResult_t, CommMemStats, (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t * value))               \
  X(ncclResult_t, AllReduce, (RONDO_NCCL_BUFFERS, ncclRedOp_t op, RONDO_NCCL_ON))                          \
  X(ncclResult_t, Broadcast, (RONDO_NCCL_BUFFERS, int root, RONDO_NCCL_ON))                                \
  X(ncclResult_t, Bcast, (void* buff, size_t count, ncclDataType_t datatype, int root, RONDO_NCCL_ON))     \
  X(ncclResult_t, Reduce, (RONDO_NCCL_BUFFERS, ncclRedOp_t op, int root, RONDO_NCCL_ON))                   \
  X(ncclResult_t, AllGather, (RONDO_NCCL_BUFFERS, RONDO_NCCL_ON))                                          \
  X(ncclResult_t, ReduceScatter, (RONDO_NCCL_BUFFERS, ncclRedOp_t op, RONDO_NCCL_ON))                      \
  X(ncclResult_t, AlltoAll, (RONDO_NCCL_BUFFERS, RONDO_NCCL_ON))                                           \
  X(ncclResult_t, Gather, (RONDO_NCCL_BUFFERS, int root, RONDO_NCCL_ON))                                   \
  X(ncclResult_t, Scatter, (RONDO_NCCL_BUFFERS, int root, RONDO_NCCL_ON))                                  \
  X(ncclResult_t, Send,                                                                                    \
    (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, RONDO_NCCL_ON))                \
  X(ncclResult_t, Recv, (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, RONDO_NCCL_ON))  \
  X(ncclResult_t, GroupStart, ())                                                                          \
  X(ncclResult_t, GroupEnd, ())                                                                            \
  X(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * info))                                                \
  X(ncclResult_t, RedOpCreatePreMulSum,                                                                    \
    (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,             \
     ncclComm_t comm))                                                                                     \
  X(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))                                         \
  X(ncclResult_t, MemAlloc, (void** ptr, size_t size))                                                     \
  X(ncclResult_t, MemFree, (void* ptr))                                                                    \
  X(ncclResult_t, CommRegister, (const ncclComm_t comm, void* buff, size_t size, void** handle))           \
  X(ncclResult_t, CommDeregister, (const ncclComm_t comm, void* handle))                                   \
  X(ncclResult_t, CommWindowRegister,                                                                      \
    (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* window, int flags))                           \
  X(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t window))                            \
  X(ncclResult_t, WinGetUserPtr, (ncclComm_t comm, ncclWindow_t window, void** pointer))                   \
  X(ncclResult_t, PutSignal,                                                                               \
    (const void* localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t window,          \
     size_t offset, int signal, int context, unsigned flags, RONDO_NCCL_ON))                               \
  X(ncclResult_t, Signal, (int peer, int signal, int context, unsigned flags, RONDO_NCCL_ON))              \
  X(ncclResult_t, WaitSignal, (int nsignals, ncclWaitSignalDesc_t* signals, RONDO_NCCL_ON))                \
  X(ncclResult_t, GetLsaMultimemDevicePointer, (RONDO_NCCL_WINDOW, void** pointer))                        \
  X(ncclResult_t, GetMultimemDevicePointer,                                                                \
    (RONDO_NCCL_WINDOW, ncclMultimemHandle_t multimem, void** pointer))                                    \
  X(ncclResult_t, GetLsaDevicePointer, (RONDO_NCCL_WINDOW, int peer, void** pointer))                      \
  X(ncclResult_t, GetPeerDevicePointer, (RONDO_NCCL_WINDOW, int peer, void** pointer))                     \
  X(ncclResult_t, DevCommCreate,                                                                           \
    (ncclComm_t comm, const ncclDevCommRequirements_t* requirements, ncclDevComm_t* made))                 \
  X(ncclResult_t, DevCommDestroy, (ncclComm_t comm, const ncclDevComm_t* made))                            \
  X(ncclTeam_t, TeamWorld, (ncclComm_t comm))                                                              \
  X(ncclTeam_t, TeamLsa, (ncclComm_t comm))                                                                \
  X(ncclTeam_t, TeamRail, (ncclComm_t comm))                                                               \
  X(int, TeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank))                                    \
  X(int, TeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank))                                      \
  X(int, LLA2ACalcSlots, (int elements, int element_bytes))                                                \
  X(ncclResult_t, LLA2ACreateRequirement,                                                                  \
    (int nblocks, int nslots, ncclLLA2AHandle_t* handle, RONDO_NCCL_NEEDS))                                \
  X(ncclResult_t, LsaBarrierCreateRequirement,                                                             \
    (ncclTeam_t team, int nbarriers, ncclLsaBarrierHandle_t* handle, RONDO_NCCL_NEEDS))                    \
  X(ncclResult_t, GinBarrierCreateRequirement,                                                             \
    (ncclComm_t comm, ncclTeam_t team, int nbarriers, ncclGinBarrierHandle_t* handle, RONDO_NCCL_NEEDS))   \
  X(ncclResult_t, GinOutboxCreateRequirement,                                                              \
    (int nblocks, int size_log2, ncclGinOutboxHandle* handle, RONDO_NCCL_NEEDS))                           \
  X(ncclResult_t, GinInboxA2ACreateRequirement,                                                            \
    (ncclTeam_t peers, int nblocks, int size_log2, ncclGinInboxA2AHandle* handle, RONDO_NCCL_NEEDS))       \
  X(ncclResult_t, ParamBind, (ncclParamHandle_t * handle, const char* key))                                \
  X(ncclResult_t, ParamGetI8, (ncclParamHandle_t handle, int8_t * value))                                  \
  X(ncclResult_t, ParamGetI16, (ncclParamHandle_t handle, int16_t * value))                                \
  X(ncclResult_t, ParamGetI32, (ncclParamHandle_t handle, int32_t * value))                                \
  X(ncclResult_t, ParamGetI64, (ncclParamHandle_t handle, int64_t * value))                                \
  X(ncclResult_t, ParamGetU8, (ncclParamHandle_t handle, uint8_t * value))                                 \
  X(ncclResult_t, ParamGetU16, (ncclParamHandle_t handle, uint16_t * value))                               \
  X(ncclResult_t, ParamGetU32, (ncclParamHandle_t handle, uint32_t * value))                               \
  X(ncclResult_t, ParamGetU64, (ncclParamHandle_t handle, uint64_t * value))                               \
  X(ncclResult_t, ParamGetStr, (ncclParamHandle_t handle, const char** value))                             \
  X(ncclResult_t, ParamGet, (ncclParamHandle_t handle, void* value, int room, int* length))                \
  X(ncclResult_t, ParamGetParameter, (const char* key, const char** value, int* length))                   \
  X(ncclResult_t, ParamGetAllParameterKeys, (const char*** keys, int* nkeys))                              \
  X(void, ParamDumpAll, ())
