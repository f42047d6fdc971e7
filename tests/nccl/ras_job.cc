// SPDX-License-Identifier: Apache-2.0
// ras_job RANK SIZE ID-FILE NAME WHAT LATE: a rank of a job that knows only NCCL's functions, with a
// communicator NAME. After some calls rank LATE does something else, as WHAT says: "loop" and "sleep"
// forever, "finalize", "destroy" and "abort" the communicator, "fork" a child that sleeps, "other": another
// call than the other ranks. "run": all ranks go on. "split": as "loop" after the ranks have split into
// pairs.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nccl_abi.h"

namespace {

constexpr int kCalls = 100;

void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  std::printf("%s\n", ncclGetLastError(nullptr));
  std::exit(1);
}

ncclUniqueId shared_id(int rank, const std::string& file) {
  ncclUniqueId id{};
  const std::string unfinished = file + ".new";
  if (rank == 0) {
    check(ncclGetUniqueId(&id));
    FILE* const to = std::fopen(unfinished.c_str(), "w");
    std::fwrite(&id, sizeof id, 1, to);
    std::fclose(to);
    std::rename(unfinished.c_str(), file.c_str());
    return id;
  }
  for (int tries = 0; tries < 30'000; ++tries, ::usleep(1000)) {
    FILE* const from = std::fopen(file.c_str(), "r");
    if (from == nullptr) continue;
    const size_t got = std::fread(&id, sizeof id, 1, from);
    std::fclose(from);
    if (got == 1) return id;
  }
  std::printf("there is no id\n");
  std::exit(1);
}

ncclConfig_t named(const char* name) {
  using rondo::nccl::kUndefined;
  ncclConfig_t config{};
  config.size = sizeof config;
  config.magic = rondo::nccl::kMagic;
  config.version = 23007;
  config.blocking = config.cgaClusterSize = config.minCTAs = config.maxCTAs = config.splitShare = kUndefined;
  config.trafficClass = config.collnetEnable = config.CTAPolicy = config.shrinkShare = kUndefined;
  config.nvlsCTAs = config.nChannelsPerNetPeer = config.nvlinkCentricSched = kUndefined;
  config.graphUsageMode = config.numRmaCtx = config.maxP2pPeers = config.graphStreamOrdering = kUndefined;
  config.commName = name;
  return config;
}

ncclResult_t all_reduce(ncclComm_t comm) {
  float values[10] = {};
  return ncclAllReduce(values, values, 10, ncclFloat32, ncclSum, comm, nullptr);
}

[[noreturn]] void idle(bool busy) {
  std::atomic<int> turns{0};
  for (;;)
    if (busy)
      ++turns;
    else
      ::pause();
}

void be_late(const std::string& what, ncclComm_t comm) {
  if (what == "finalize") check(ncclCommFinalize(comm));
  if (what == "destroy") check(ncclCommDestroy(comm));
  if (what == "abort") check(ncclCommAbort(comm));
  if (what == "fork" && ::fork() == 0) idle(false);
  if (what == "other") {
    float values[10] = {};
    static_cast<void>(ncclBroadcast(values, values, 10, ncclFloat32, 0, comm, nullptr));
  }
  idle(what == "loop" || what == "split");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int rank = std::atoi(argv[1]);
  const int size = std::atoi(argv[2]);
  const std::string what = argv[5];
  ncclConfig_t config = named(argv[4]);
  ncclComm_t comm = nullptr;
  check(ncclCommInitRankConfig(&comm, size, shared_id(rank, argv[3]), rank, &config));
  for (int call = 0; call < kCalls; ++call) check(all_reduce(comm));
  if (what == "split") {
    ncclComm_t pair = nullptr;
    check(ncclCommSplit(comm, rank / 2, rank, &pair, nullptr));
    comm = pair;
  }
  std::printf("ready\n");
  std::fflush(stdout);
  while (what == "run") check(all_reduce(comm));
  if (rank == std::atoi(argv[6])) be_late(what, comm);
  static_cast<void>(all_reduce(comm));
  idle(false);
}
