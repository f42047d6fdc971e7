// SPDX-License-Identifier: Apache-2.0
// Initializing communicators: ncclCommInit* and ncclGetUniqueId().
#include <cstring>
#include <vector>

#include "comm_task.h"
#include "config.h"

namespace rondo::nccl {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(rondo_unique_id_t));

struct Start {
  int nranks;
  int rank;
  ncclUniqueId id;
};

Outcome join(ncclComm& handle, const Start& start, const Config& config) {
  rondo_unique_id_t id;
  std::memcpy(&id, &start.id, sizeof id);
  const rondo_config_t view = config.view();
  rondo_comm_t made = nullptr;
  RONDO_NCCL_TRY(outcome_of(rondo_init_rank(&made, start.nranks, &id, start.rank, &view)));
  return adopt(handle, made);
}

Outcome check_start(const ncclComm_t* comm, const Start& start) {
  if (comm == nullptr) return null_argument("comm");
  if (start.nranks < 1)
    return wrong(ncclInvalidArgument, "nranks is {}: it must be at least 1", start.nranks);
  if (start.rank < 0 || start.rank >= start.nranks)
    return wrong(ncclInvalidArgument, "rank is {}: it must be from 0 to {}", start.rank, start.nranks - 1);
  return {};
}

Outcome init_rank(ncclComm_t* comm, const Start& start, const ncclConfig_t* config) {
  if (comm != nullptr) *comm = nullptr;
  RONDO_NCCL_TRY(check_start(comm, start));
  Config wanted;
  RONDO_NCCL_TRY(read_config(config, nullptr, wanted));
  wanted.device = device_of_thread();
  ncclComm* handle = take_handle(wanted.blocking);
  *comm = handle;
  return submit({.comm = handle,
                 .parent = nullptr,
                 .target = comm,
                 .blocking = wanted.blocking,
                 .run = [handle, start, wanted] { return join(*handle, start, wanted); }});
}

/// In the syntax of RONDO_DEVICE.
std::string devices_text(int nranks, const int* devices) {
  std::string text = device_of_thread();
  if (text.empty() || text == "host") return text;
  text = "cuda:";
  for (int rank = 0; rank < nranks; ++rank)
    text += (rank == 0 ? "" : ",") + std::to_string(devices != nullptr ? devices[rank] : rank);
  return text;
}

Outcome init_all(ncclComm_t* comms, int nranks, const int* devices) {
  if (comms == nullptr) return null_argument("comms");
  if (nranks < 1) return wrong(ncclInvalidArgument, "ndev is {}: it must be at least 1", nranks);
  Config wanted;
  RONDO_NCCL_TRY(read_config(nullptr, nullptr, wanted));
  wanted.device = devices_text(nranks, devices);
  const rondo_config_t view = wanted.view();
  std::vector<rondo_comm_t> made(static_cast<size_t>(nranks));
  RONDO_NCCL_TRY(outcome_of(rondo_init_all(made.data(), nranks, &view)));
  for (int rank = 0; rank < nranks; ++rank) {
    comms[rank] = take_handle(true);
    RONDO_NCCL_TRY(adopt(*comms[rank], made[static_cast<size_t>(rank)]));
  }
  return {};
}

}  // namespace

Outcome get_unique_id(ncclUniqueId* id) {
  if (id == nullptr) return null_argument("uniqueId");
  rondo_unique_id_t made;
  RONDO_NCCL_TRY(outcome_of(rondo_get_unique_id(&made)));
  std::memcpy(id, &made, sizeof made);
  return {};
}

}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return guarded("ncclGetUniqueId", nullptr, [&] { return get_unique_id(id); });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  return guarded("ncclCommInitRank", nullptr, [&] { return init_rank(comm, {nranks, rank, id}, nullptr); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return guarded("ncclCommInitRankConfig", nullptr, [&] {
    return init_rank(comm, {nranks, rank, id}, config);
  });
}

/// One id is enough: initializing thousands of ranks takes a second.
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int nids, ncclUniqueId* ids,
                                      ncclConfig_t* config) {
  return guarded("ncclCommInitRankScalable", nullptr, [&]() -> Outcome {
    if (ids == nullptr) return null_argument("commIds");
    if (nids < 1 || nids > nranks)
      return wrong(ncclInvalidArgument, "nId is {}: it must be from 1 to nranks, which is {}", nids, nranks);
    return init_rank(comm, {nranks, rank, ids[0]}, config);
  });
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int nranks, const int* devices) {
  return guarded("ncclCommInitAll", nullptr, [&] { return init_all(comms, nranks, devices); });
}

RONDO_NCCL_ALIAS(GetUniqueId);
RONDO_NCCL_ALIAS(CommInitRank);
RONDO_NCCL_ALIAS(CommInitRankConfig);
RONDO_NCCL_ALIAS(CommInitRankScalable);
RONDO_NCCL_ALIAS(CommInitAll);
