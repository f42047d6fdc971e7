// SPDX-License-Identifier: Apache-2.0
// Ending communicators: ncclCommFinalize(), ncclCommDestroy(), ncclCommAbort(), ncclCommRevoke().
#include "comm_task.h"
#include "group.h"

namespace rondo::nccl {
namespace {

Outcome finalize(ncclComm& comm) {
  if (comm.finalized.load()) return {};
  RONDO_NCCL_TRY(check_ready(comm));
  if (GroupCalls::has(comm))
    return wrong(ncclInvalidUsage, "comm has calls in the group that is open on this thread; end that first");
  return submit({&comm, nullptr, nullptr, comm.blocking, [&comm] {
                   comm.finalized.store(true);
                   return outcome_of(rondo_quiesce(comm.comm), comm.comm);
                 }});
}

Outcome check_destroyable(const ncclComm& comm) {
  if (comm.jobs.load() != 0)
    return wrong(ncclInvalidArgument,
                 "the communicator is not ready: ncclCommGetAsyncError() still says ncclInProgress");
  if (GroupCalls::has(comm))
    return wrong(ncclInvalidUsage, "comm has calls in the group that is open on this thread; end that first");
  return {};
}

/// Does not wait for the other ranks: ranks may destroy their communicators in different orders.
Outcome destroy(ncclComm_t comm) {
  {
    const Use use(comm);
    RONDO_NCCL_TRY(use.outcome());
    RONDO_NCCL_TRY(check_destroyable(*comm));
    comm->mark.store(0);
  }
  if (!await_unused(*comm)) return wrong(ncclInvalidUsage, "another thread is still in a call on comm");
  const Outcome left = outcome_of(rondo_leave(comm->comm));
  give_back_handle(comm);
  return left;
}

Outcome abort(ncclComm_t comm) {
  {
    const Use use(comm);
    RONDO_NCCL_TRY(use.outcome());
    if (GroupCalls::has(*comm)) GroupCalls::drop_calls();
  }
  discard(comm);
  return {};
}

Outcome revoke(ncclComm& comm, int flags) {
  if (flags != 0)
    return wrong(ncclInvalidArgument, "revokeFlags is {}: it must be NCCL_REVOKE_DEFAULT", flags);
  if (comm.revoked.load()) return {};
  RONDO_NCCL_TRY(check_ready(comm));
  if (GroupCalls::has(comm)) GroupCalls::drop_calls();
  comm.revoked.store(true);
  return outcome_of(rondo_abort(comm.comm));
}

Outcome async_error(ncclComm& comm, ncclResult_t* error) {
  if (error == nullptr) return null_argument("asyncError");
  *error = ncclInProgress;
  if (comm.jobs.load() != 0) return {};
  const std::lock_guard lock(comm.mutex);
  *error = comm.job_end.result;
  if (*error != ncclSuccess || comm.revoked.load() || comm.comm == nullptr) return {};
  rondo_status_t status = RONDO_OK;
  RONDO_NCCL_TRY(outcome_of(rondo_async_error(comm.comm, &status)));
  *error = result_of(status);
  return {};
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return with_any("ncclCommFinalize", comm, [](ncclComm& known) { return finalize(known); });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;  // as NCCL
  return guarded("ncclCommDestroy", nullptr, [&] { return destroy(comm); });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;  // as NCCL
  return guarded("ncclCommAbort", nullptr, [&] { return rondo::nccl::abort(comm); });
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  return with_any("ncclCommRevoke", comm, [&](ncclComm& known) { return revoke(known, flags); });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return with_any("ncclCommGetAsyncError", comm, [&](ncclComm& known) { return async_error(known, error); });
}

RONDO_NCCL_ALIAS(CommFinalize);
RONDO_NCCL_ALIAS(CommDestroy);
RONDO_NCCL_ALIAS(CommAbort);
RONDO_NCCL_ALIAS(CommRevoke);
RONDO_NCCL_ALIAS(CommGetAsyncError);
