// SPDX-License-Identifier: Apache-2.0
#include "outcome.h"

#include <cstdlib>

namespace rondo::nccl {
namespace {

constexpr int kVersion = 22907;
constexpr int kFirstWithTimeout = 23000;

}  // namespace

int reported_version() {
  const char* wanted = std::getenv("RONDO_NCCL_VERSION");
  const int version = wanted != nullptr ? std::atoi(wanted) : 0;
  return version > 0 ? version : kVersion;
}

ncclResult_t result_of(rondo_status_t status) {
  switch (status) {
    case RONDO_OK: return ncclSuccess;
    case RONDO_INVALID_ARGUMENT: return ncclInvalidArgument;
    case RONDO_INVALID_USAGE:
    case RONDO_MISMATCH:
    case RONDO_UNSUPPORTED: return ncclInvalidUsage;
    case RONDO_SYSTEM_ERROR:
    case RONDO_OUT_OF_MEMORY: return ncclSystemError;
    case RONDO_REMOTE_ERROR:
    case RONDO_ABORTED: return ncclRemoteError;
    // Programs built for older versions do not know ncclTimeout.
    case RONDO_TIMEOUT: return reported_version() < kFirstWithTimeout ? ncclRemoteError : ncclTimeout;
    case RONDO_IN_PROGRESS: return ncclInProgress;
    case RONDO_INTERNAL_ERROR: break;
  }
  return ncclInternalError;
}

Outcome outcome_of(rondo_status_t status, rondo_comm_t comm) {
  if (status == RONDO_OK) return {};
  return {result_of(status), rondo_last_error(comm)};
}

}  // namespace rondo::nccl
