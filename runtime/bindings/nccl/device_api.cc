// SPDX-License-Identifier: Apache-2.0
// The host side of NCCL's device API. User kernels cannot communicate through this library, so calls that
// prepare for that are refused. Team queries are plain arithmetic and work: every rank is its own team.
#include "comm.h"

namespace rondo::nccl {
namespace {

Outcome no_device_api() {
  return wrong(
      ncclInvalidUsage,
      "kernels of the program's own cannot communicate through this library: there is no device API");
}

ncclResult_t refuse(const char* call) {
  return guarded(call, nullptr, [] { return no_device_api(); });
}

/// All zeros if the handle is not a communicator: these functions cannot report an error.
ncclTeam_t all_ranks(ncclComm_t comm) {
  const Use use(comm);
  return use.outcome().ok() ? ncclTeam_t{comm->size, comm->rank, 1} : ncclTeam_t{};
}

int rank_of_own(ncclComm_t comm) {
  const Use use(comm);
  return use.outcome().ok() ? comm->rank : -1;
}

int steps_from_own(const ncclTeam_t& team, int rank) { return (rank - team.rank) * team.stride; }

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements_t*, ncclDevComm_t*) {
  return with("ncclDevCommCreate", comm, [](ncclComm&) { return no_device_api(); });
}

ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const ncclDevComm_t*) {
  return with("ncclDevCommDestroy", comm, [](ncclComm&) { return no_device_api(); });
}

ncclTeam_t ncclTeamWorld(ncclComm_t comm) { return all_ranks(comm); }

ncclTeam_t ncclTeamLsa(ncclComm_t) { return {1, 0, 1}; }

ncclTeam_t ncclTeamRail(ncclComm_t comm) { return all_ranks(comm); }

int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  return rank_of_own(comm) + steps_from_own(team, rank);
}

int ncclTeamRankToLsa(ncclComm_t, ncclTeam_t team, int rank) { return steps_from_own(team, rank); }

int ncclLLA2ACalcSlots(int, int) { return 0; }

ncclResult_t ncclLLA2ACreateRequirement(int, int, ncclLLA2AHandle_t*, ncclDevResourceRequirements_t*) {
  return refuse("ncclLLA2ACreateRequirement");
}

ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t, int, ncclLsaBarrierHandle_t*,
                                             ncclDevResourceRequirements_t*) {
  return refuse("ncclLsaBarrierCreateRequirement");
}

ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam_t, int, ncclGinBarrierHandle_t*,
                                             ncclDevResourceRequirements_t*) {
  return refuse("ncclGinBarrierCreateRequirement");
}

ncclResult_t ncclGinOutboxCreateRequirement(int, int, ncclGinOutboxHandle*, ncclDevResourceRequirements_t*) {
  return refuse("ncclGinOutboxCreateRequirement");
}

ncclResult_t ncclGinInboxA2ACreateRequirement(ncclTeam_t, int, int, ncclGinInboxA2AHandle*,
                                              ncclDevResourceRequirements_t*) {
  return refuse("ncclGinInboxA2ACreateRequirement");
}

RONDO_NCCL_ALIAS(DevCommCreate);
RONDO_NCCL_ALIAS(DevCommDestroy);
RONDO_NCCL_ALIAS(TeamWorld);
RONDO_NCCL_ALIAS(TeamLsa);
RONDO_NCCL_ALIAS(TeamRail);
RONDO_NCCL_ALIAS(TeamRankToWorld);
RONDO_NCCL_ALIAS(TeamRankToLsa);
RONDO_NCCL_ALIAS(LLA2ACalcSlots);
RONDO_NCCL_ALIAS(LLA2ACreateRequirement);
RONDO_NCCL_ALIAS(LsaBarrierCreateRequirement);
RONDO_NCCL_ALIAS(GinBarrierCreateRequirement);
RONDO_NCCL_ALIAS(GinOutboxCreateRequirement);
RONDO_NCCL_ALIAS(GinInboxA2ACreateRequirement);
