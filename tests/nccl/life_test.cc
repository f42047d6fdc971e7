// SPDX-License-Identifier: Apache-2.0
// The life cycle of communicators: blocking and nonblocking, in groups, split, grown, shrunk, revoked, ended
// in any order.
#include <algorithm>
#include <array>
#include <cstring>

#include "catch.h"
#include "ranks.h"

namespace rondo::test {
namespace {

ncclConfig_t config_of(int blocking) {
  ncclConfig_t config{};
  config.size = sizeof config;
  config.magic = nccl::kMagic;
  config.version = 23007;
  config.blocking = blocking;
  config.cgaClusterSize = config.minCTAs = config.maxCTAs = config.splitShare = config.trafficClass =
      nccl::kUndefined;
  config.collnetEnable = config.CTAPolicy = config.shrinkShare = config.nvlsCTAs = nccl::kUndefined;
  config.nChannelsPerNetPeer = config.nvlinkCentricSched = config.graphUsageMode = nccl::kUndefined;
  config.numRmaCtx = config.maxP2pPeers = config.graphStreamOrdering = nccl::kUndefined;
  return config;
}

std::string both_ways(int nranks, const Ranks& body) {
  return run_processes(nranks, body) + run_threads(nranks, body);
}

}  // namespace

TEST_CASE("a communicator reports its properties") {
  CHECK(run_threads(3, [](const Start& start) {
          const Comm comm(start);
          int value = -1;
          done(ncclCommUserRank(comm.get(), &value));
          require(value == start.rank, "wrong rank");
          done(ncclCommCount(comm.get(), &value));
          require(value == 3, "wrong size");
          done(ncclCommCuDevice(comm.get(), &value));
          require(value == -1, "a GPU");
          ncclCommProperties_t properties{};
          properties.size = sizeof properties;
          fails(ncclCommQueryProperties(comm.get(), &properties), ncclInvalidArgument, {"INITIALIZER"},
                comm.get());
          properties.magic = nccl::kMagic;
          done(ncclCommQueryProperties(comm.get(), &properties));
          require(properties.rank == start.rank && properties.nRanks == 3 && !properties.deviceApiSupport,
                  "wrong properties");
          uint64_t bytes = 1;
          done(ncclCommMemStats(comm.get(), ncclStatGpuMemTotal, &bytes));
          require(bytes == 0, "GPU memory");
          const ncclTeam_t world = ncclTeamWorld(comm.get());
          require(world.nRanks == 3 && world.rank == start.rank && world.stride == 1, "wrong team");
          require(ncclTeamRankToWorld(comm.get(), world, 2) == 2, "wrong rank of a team");
        }) == "");
}

TEST_CASE("a nonblocking communicator is in progress until all ranks have joined") {
  CHECK(both_ways(2, [](const Start& start) {
          ncclConfig_t config = config_of(0);
          Comm comm;
          if (start.rank == 1) sleep_ms(100);
          const ncclResult_t begun = ncclCommInitRankConfig(comm.out(), 2, start.id, start.rank, &config);
          require(begun == ncclInProgress && comm.get() != nullptr, "the start did not go to the background");
          if (start.rank == 0) {
            int value = 0;
            fails(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm.get(), nullptr),
                  ncclInvalidArgument, {"ncclInProgress"}, comm.get());
            fails(ncclCommCount(comm.get(), &value), ncclInvalidArgument, {"ncclInProgress"}, comm.get());
          }
          require(settled(comm.get()) == ncclSuccess, ncclGetLastError(comm.get()));
          check_sum(comm.get(), 2);
          Comm half;
          require(ncclCommSplit(comm.get(), start.rank, 0, half.out(), nullptr) == ncclInProgress,
                  "it blocks");
          require(settled(half.get()) == ncclSuccess && settled(comm.get()) == ncclSuccess, "split");
          check_sum(half.get(), 1);
          ncclComm_t none = comm.get();
          require(ncclCommSplit(comm.get(), -1, 0, &none, nullptr) == ncclInProgress && none == nullptr,
                  "a child");
          require(settled(comm.get()) == ncclSuccess, "split without a colour");
          const ncclResult_t ending = ncclCommFinalize(comm.get());
          require(ending == ncclInProgress && settled(comm.get()) == ncclSuccess, "finalize");
          int value = 0;
          fails(ncclBcast(&value, 1, ncclInt32, 0, comm.get(), nullptr), ncclInvalidUsage, {"finalized"},
                comm.get());
        }) == "");
}

TEST_CASE("a nonblocking start that fails reports it when polled, and can be aborted before") {
  CHECK(run_alone([] {
          ncclUniqueId id;
          done(ncclGetUniqueId(&id));
          ncclConfig_t config = config_of(0);
          ncclComm_t comm = nullptr;
          REQUIRED(ncclCommInitRankConfig(&comm, 2, id, 0, &config) == ncclInProgress);
          REQUIRED(ncclCommAbort(comm) == ncclSuccess);  // its peer never joins
          REQUIRED(ncclCommAbort(comm) == ncclInvalidArgument);
          ncclUniqueId nonsense{};
          REQUIRED(ncclCommInitRankConfig(&comm, 2, nonsense, 0, &config) == ncclInProgress);
          REQUIRED(settled(comm) == ncclInvalidArgument);
          REQUIRED(std::string(ncclGetLastError(comm)).find("unique id") != std::string::npos);
          REQUIRED(ncclCommDestroy(comm) == ncclSuccess);
        }) == "");
}

TEST_CASE("one thread starts several ranks in a group, splits them, and ends them one by one") {
  CHECK(run_alone([] {
          constexpr int kSize = 4;
          for (const int blocking : {1, 0}) {
            std::array<ncclComm_t, kSize> comms{};
            std::array<ncclComm_t, kSize> halves{};
            ncclUniqueId id;
            done(ncclGetUniqueId(&id));
            ncclConfig_t config = config_of(blocking);
            done(ncclGroupStart());
            for (int rank = 0; rank < kSize; ++rank)
              done(ncclCommInitRankConfig(&comms[static_cast<size_t>(rank)], kSize, id, rank, &config));
            const ncclResult_t begun = ncclGroupEnd();
            REQUIRED(begun == (blocking != 0 ? ncclSuccess : ncclInProgress));
            for (ncclComm_t comm : comms) REQUIRED(settled(comm) == ncclSuccess);
            done(ncclGroupStart());
            for (size_t rank = 0; rank < kSize; ++rank)
              done(ncclCommSplit(comms[rank], static_cast<int>(rank) % 2, 0, &halves[rank], nullptr));
            REQUIRED(ncclGroupEnd() == (blocking != 0 ? ncclSuccess : ncclInProgress));
            for (size_t rank = 0; rank < kSize; ++rank)
              REQUIRED(settled(halves[rank]) == ncclSuccess && settled(comms[rank]) == ncclSuccess);
            std::array<int, kSize> values{1, 2, 4, 8};
            done(ncclGroupStart());
            for (size_t rank = 0; rank < kSize; ++rank)
              done(ncclAllReduce(&values[rank], &values[rank], 1, ncclInt32, ncclSum, halves[rank], nullptr));
            done(ncclGroupEnd());
            REQUIRED(values == std::array<int, kSize>{5, 10, 5, 10});
            const double before = seconds_now();
            for (ncclComm_t comm : comms) {
              const ncclResult_t ending = ncclCommFinalize(comm);
              REQUIRED(ending == (blocking != 0 ? ncclSuccess : ncclInProgress) &&
                       settled(comm) == ncclSuccess);
            }
            for (ncclComm_t comm : halves) done(ncclCommDestroy(comm));
            for (ncclComm_t comm : comms) done(ncclCommDestroy(comm));
            REQUIRED(seconds_now() - before < 1);
          }
        }) == "");
}

TEST_CASE("ranks may end their communicators in different orders, and leave") {
  CHECK(run_processes(2, [](const Start& start) {
          Comm world(start);
          ncclUniqueId other{};
          if (start.rank == 0) done(ncclGetUniqueId(&other));
          done(ncclBcast(&other, sizeof other, ncclInt8, 0, world.get(), nullptr));
          Comm twin({start.rank, 2, other});
          check_sum(twin.get(), 2);
          const double before = seconds_now();
          ncclComm_t first = start.rank == 0 ? world.release() : twin.release();
          done(ncclCommDestroy(first));
          done(ncclCommDestroy(start.rank == 0 ? twin.release() : world.release()));
          require(seconds_now() - before < 1, "they waited for one another");
        }) == "");
}

TEST_CASE("a rank without a color gets no communicator; the others are ordered by key") {
  CHECK(both_ways(3, [](const Start& start) {
          const Comm world(start);
          Comm part;
          const bool out = start.rank == 1;
          done(ncclCommSplit(world.get(), out ? -1 : 7, -start.rank, part.out(), nullptr));
          require((part.get() == nullptr) == out, "wrong membership");
          if (out) return;
          int rank = -1;
          done(ncclCommUserRank(part.get(), &rank));
          require(rank == (start.rank == 2 ? 0 : 1), "wrong order");
          check_sum(part.get(), 2);
        }) == "");
}

TEST_CASE("after a shrink, the remaining ranks continue") {
  CHECK(both_ways(4, [](const Start& start) {
          const Comm world(start);
          if (start.rank == 2) return;
          std::array<int, 1> excluded{2};
          Comm left;
          done(ncclCommShrink(world.get(), excluded.data(), 1, left.out(), nullptr, 0), world.get());
          check_sum(left.get(), 3);
          Comm again;
          std::array<int, 2> more{0, 1};
          if (start.rank == 3)
            done(ncclCommShrink(left.get(), more.data(), 2, again.out(), nullptr, 0), left.get());
          if (start.rank == 3) check_sum(again.get(), 1);
        }) == "");
}

TEST_CASE("a communicator grows: its ranks keep their numbers, and new ones join") {
  CHECK(both_ways(4, [](const Start& start) {
          const Comm all_ranks(start);  // transfers the id; the growing one has two ranks
          Comm small;
          done(ncclCommSplit(all_ranks.get(), start.rank < 2 ? 0 : -1, 0, small.out(), nullptr));
          ncclUniqueId id{};
          if (start.rank == 1) done(ncclCommGetUniqueId(small.get(), &id));
          done(ncclBcast(&id, sizeof id, ncclInt8, 1, all_ranks.get(), nullptr));
          Comm grown;
          const bool gives = start.rank == 1 || start.rank >= 2;
          done(ncclCommGrow(small.get(), 4, gives ? &id : nullptr, start.rank < 2 ? -1 : start.rank,
                            grown.out(), nullptr));
          check_sum(grown.get(), 4);
          int rank = -1;
          done(ncclCommUserRank(grown.get(), &rank));
          require(rank == start.rank, "wrong rank");
        }) == "");
}

TEST_CASE("a revoked communicator can only be split and shrunk") {
  CHECK(both_ways(2, [](const Start& start) {
          const Comm world(start);
          Comm twin;
          done(ncclCommSplit(world.get(), 0, 0, twin.out(), nullptr));
          check_sum(world.get(), 2);
          check_sum(twin.get(), 2);  // no rank is still in a call on the other one
          done(ncclCommRevoke(world.get(), 0));
          ncclResult_t state = ncclInProgress;
          done(ncclCommGetAsyncError(world.get(), &state));
          require(state == ncclSuccess, "not quiet");
          int value = 0;
          fails(ncclBcast(&value, 1, ncclInt32, 0, world.get(), nullptr), ncclInvalidUsage, {"revoked"},
                world.get());
          fails(ncclCommFinalize(world.get()), ncclInvalidUsage, {"revoked"}, world.get());
          Comm split;
          done(ncclCommSplit(world.get(), 0, -start.rank, split.out(), nullptr), world.get());
          check_sum(split.get(), 2);
          Comm shrunk;
          done(ncclCommShrink(world.get(), nullptr, 0, shrunk.out(), nullptr, 0), world.get());
          check_sum(shrunk.get(), 2);
        }) == "");
}

TEST_CASE("a simulated group makes no call") {
  CHECK(run_alone([] {
          std::array<ncclComm_t, 2> comms{};
          done(ncclCommInitAll(comms.data(), 2, nullptr));
          int value = 3;
          ncclSimInfo_t info{sizeof info, nccl::kSimMagic, 22907, 5};
          done(ncclGroupStart());
          done(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comms[0], nullptr));
          done(ncclGroupSimulateEnd(&info));
          REQUIRED(value == 3);
          REQUIRED(info.estimatedTime == -1.0F);
          for (ncclComm_t comm : comms) done(ncclCommDestroy(comm));
        }) == "");
}

TEST_CASE("configs of every version are read up to their size") {
  CHECK(run_alone([] {
          ncclUniqueId id;
          for (const size_t size : {24, 40, 48, 72, 80, 88, 96, 200}) {
            std::array<std::byte, 256> room{};
            room.fill(std::byte{0x7f});  // bytes past the end are unset
            ncclConfig_t config = config_of(1);
            config.size = size;
            std::memcpy(room.data(), &config, std::min<size_t>(size == 24 ? 20 : size, sizeof config));
            done(ncclGetUniqueId(&id));
            ncclComm_t comm = nullptr;
            done(ncclCommInitRankConfig(&comm, 1, id, 0, reinterpret_cast<ncclConfig_t*>(room.data())));
            done(ncclCommDestroy(comm));
          }
        }) == "");
}

}  // namespace rondo::test
