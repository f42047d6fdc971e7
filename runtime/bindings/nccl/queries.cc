// SPDX-License-Identifier: Apache-2.0
// Queries: versions, errors, and properties of a communicator.
#include <algorithm>
#include <cstring>

#include "comm.h"

namespace rondo::nccl {
namespace {

template <typename Value>
Outcome give(const char* name, Value* out, Value value) {
  if (out == nullptr) return null_argument(name);
  *out = value;
  return {};
}

/// For queries that are also valid on a communicator that has failed or was finalized.
Outcome check_made(ncclComm& comm) {
  return comm.jobs.load() != 0 || comm.comm == nullptr ? check_ready(comm) : Outcome();
}

template <typename Ask>
ncclResult_t query(const char* call, ncclComm_t comm, Ask&& ask) {
  return with_any(call, comm, [&](ncclComm& known) -> Outcome {
    RONDO_NCCL_TRY(check_made(known));
    return ask(known);
  });
}

Outcome properties_of(const ncclComm& comm, ncclCommProperties_t* out) {
  if (out == nullptr) return null_argument("props");
  if (out->magic != kMagic)
    return wrong(ncclInvalidArgument, "props was not initialised with NCCL_COMM_PROPERTIES_INITIALIZER");
  ncclCommProperties_t properties{};
  properties.size = out->size;
  properties.magic = out->magic;
  properties.version = out->version;
  properties.rank = comm.rank;
  properties.nRanks = comm.size;
  properties.cudaDev = comm.device;
  properties.nvmlDev = -1;  // NVML is not queried
  properties.nLsaTeams = comm.size;
  std::memcpy(out, &properties, std::min(out->size, sizeof properties));
  return {};
}

Outcome memory_of(const ncclComm& comm, ncclCommMemStat_t stat, uint64_t* value) {
  if (value == nullptr) return null_argument("value");
  if (stat < ncclStatGpuMemSuspend || stat > ncclStatGpuMemTotal)
    return wrong(ncclInvalidArgument, "there is no stat {}", static_cast<int>(stat));
  *value = 0;
  if (comm.device < 0 || stat == ncclStatGpuMemSuspend || stat == ncclStatGpuMemSuspended) return {};
  return wrong(ncclInvalidUsage, "the GPU memory of a communicator is not counted");
}

Outcome no_suspending() {
  return wrong(ncclInvalidUsage, "communicators cannot be suspended: destroy it and make a new one");
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclGetVersion(int* version) {
  return guarded("ncclGetVersion", nullptr, [&] { return give("version", version, reported_version()); });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "success";
    case ncclUnhandledCudaError: return "a CUDA call failed";
    case ncclSystemError: return "the operating system or a device refused something";
    case ncclInternalError: return "a fault in the library itself";
    case ncclInvalidArgument: return "an argument is out of its range";
    case ncclInvalidUsage: return "the call is not allowed now, not supported, or ranks disagree about it";
    case ncclRemoteError: return "another rank died, left, aborted, or did not answer in time";
    case ncclInProgress: return "not done yet";
    case ncclTimeout: return "the deadline has passed";
  }
  return "there is no such result";
}

const char* ncclGetLastError(ncclComm_t comm) { return last_error(comm); }

void ncclResetDebugInit() { Logger::reopen(); }

void ncclResetDebugInitInternal() { Logger::reopen(); }

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return query("ncclCommCount", comm, [&](ncclComm& known) { return give("count", count, known.size); });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return query("ncclCommCuDevice", comm,
               [&](ncclComm& known) { return give("device", device, known.device); });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return query("ncclCommUserRank", comm, [&](ncclComm& known) { return give("rank", rank, known.rank); });
}

ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties) {
  return query("ncclCommQueryProperties", comm,
               [&](ncclComm& known) { return properties_of(known, properties); });
}

ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value) {
  return query("ncclCommMemStats", comm, [&](ncclComm& known) { return memory_of(known, stat, value); });
}

ncclResult_t ncclCommSuspend(ncclComm_t comm, int) {
  return with("ncclCommSuspend", comm, [](ncclComm&) { return no_suspending(); });
}

ncclResult_t ncclCommResume(ncclComm_t comm) {
  return with("ncclCommResume", comm, [](ncclComm&) { return no_suspending(); });
}

RONDO_NCCL_ALIAS(GetVersion);
RONDO_NCCL_ALIAS(GetErrorString);
RONDO_NCCL_ALIAS(GetLastError);
RONDO_NCCL_ALIAS(ResetDebugInit);
RONDO_NCCL_ALIAS(ResetDebugInitInternal);
RONDO_NCCL_ALIAS(CommCount);
RONDO_NCCL_ALIAS(CommCuDevice);
RONDO_NCCL_ALIAS(CommUserRank);
RONDO_NCCL_ALIAS(CommQueryProperties);
RONDO_NCCL_ALIAS(CommMemStats);
RONDO_NCCL_ALIAS(CommSuspend);
RONDO_NCCL_ALIAS(CommResume);
