// SPDX-License-Identifier: Apache-2.0
// Failures: bad arguments, and ranks that disagree, die or are aborted. Every failure has an error message,
// and no call hangs.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "catch.h"
#include "ranks.h"

namespace rondo::test {
namespace {

constexpr double kNews_s = 1;  // limit for a death to become known on all ranks

/// Runs all-reduces until one fails; returns its time and result.
struct End {
  ncclResult_t result = ncclSuccess;
  double at = 0;
};

End call_until_failure(ncclComm_t comm) {
  End end;
  for (int i = 0; end.result == ncclSuccess && i < 1'000'000; ++i) {
    int value = 1;
    end.result = ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr);
  }
  end.at = seconds_now();
  return end;
}

}  // namespace

TEST_CASE("bad arguments are named") {
  CHECK(run_alone([] {
          ncclComm_t comm = nullptr;
          done(ncclCommInitAll(&comm, 1, nullptr));
          int value = 0;
          const auto refused = [&](ncclResult_t result, const std::vector<std::string>& words) {
            fails(result, ncclInvalidArgument, words, comm);
          };
          refused(ncclAllReduce(&value, &value, 1, static_cast<ncclDataType_t>(12), ncclSum, comm, nullptr),
                  {"ncclAllReduce", "datatype is 12"});
          refused(ncclAllReduce(&value, &value, 1, ncclInt32, static_cast<ncclRedOp_t>(77), comm, nullptr),
                  {"op is 77"});
          refused(ncclBcast(&value, 1, ncclInt32, 4, comm, nullptr), {"ncclBcast", "root is 4"});
          refused(ncclSend(&value, 1, ncclInt32, -1, comm, nullptr), {"peer is -1"});
          refused(ncclRecv(&value, 1, ncclInt32, -1, comm, nullptr), {"peer is -1"});
          refused(ncclAllReduce(nullptr, &value, 1, ncclInt32, ncclSum, comm, nullptr), {"sendbuf is NULL"});
          auto* stream = reinterpret_cast<cudaStream_t>(&value);
          refused(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, stream), {"no GPU", "stream"});
          refused(ncclCommSplit(comm, -2, 0, &comm, nullptr), {"color is -2"});
          REQUIRED(comm == nullptr);  // as in NCCL, the new communicator is NULL
          fails(ncclCommCount(nullptr, &value), ncclInvalidArgument, {"comm is NULL"});
          fails(ncclCommInitAll(nullptr, 1, nullptr), ncclInvalidArgument, {"comms is NULL"});
          ncclUniqueId id;
          done(ncclGetUniqueId(&id));
          fails(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument, {"rank is 2"});
          ncclConfig_t config{};
          fails(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                {"NCCL_CONFIG_INITIALIZER"});
          fails(ncclCommInitRankScalable(&comm, 1, 0, 2, &id, nullptr), ncclInvalidArgument, {"nId is 2"});
          fails(ncclGroupEnd(), ncclInvalidUsage, {"ncclGroupStart()"});
        }) == "");
}

TEST_CASE("requests for unsupported features are refused with an explanation") {
  CHECK(run_alone([] {
          ncclComm_t comm = nullptr;
          done(ncclCommInitAll(&comm, 1, nullptr));
          int value = 0;
          void* pointer = &value;
          fails(ncclDevCommCreate(comm, nullptr, nullptr), ncclInvalidUsage, {"no device API"}, comm);
          fails(ncclDevCommDestroy(comm, nullptr), ncclInvalidUsage, {"no device API"}, comm);
          fails(ncclCommSuspend(comm, 1), ncclInvalidUsage, {"suspended"}, comm);
          fails(ncclCommResume(comm), ncclInvalidUsage, {"suspended"}, comm);
          fails(ncclSignal(0, 0, 0, 0, comm, nullptr), ncclInvalidUsage, {"windows"}, comm);
          fails(ncclWaitSignal(0, nullptr, comm, nullptr), ncclInvalidUsage, {"windows"}, comm);
          fails(ncclPutSignal(&value, 1, ncclInt32, 0, nullptr, 0, 0, 0, 0, comm, nullptr), ncclInvalidUsage,
                {"windows"}, comm);
          fails(ncclWinGetUserPtr(comm, nullptr, &pointer), ncclInvalidArgument, {"window"}, comm);
          REQUIRED(pointer == nullptr);
          fails(ncclGetPeerDevicePointer(nullptr, 0, 0, &pointer), ncclInvalidArgument, {"window"});
          fails(ncclGetLsaDevicePointer(nullptr, 0, 0, &pointer), ncclInvalidArgument, {"window"});
          fails(ncclGetLsaMultimemDevicePointer(nullptr, 0, &pointer), ncclInvalidArgument, {"window"});
          fails(ncclGetMultimemDevicePointer(nullptr, 0, {}, &pointer), ncclInvalidArgument, {"window"});
          fails(ncclLLA2ACreateRequirement(1, 1, nullptr, nullptr), ncclInvalidUsage, {"device API"});
          fails(ncclLsaBarrierCreateRequirement({}, 1, nullptr, nullptr), ncclInvalidUsage, {"device API"});
          fails(ncclGinBarrierCreateRequirement(comm, {}, 1, nullptr, nullptr), ncclInvalidUsage,
                {"device API"});
          fails(ncclGinOutboxCreateRequirement(1, 1, nullptr, nullptr), ncclInvalidUsage, {"device API"});
          fails(ncclGinInboxA2ACreateRequirement({}, 1, 1, nullptr, nullptr), ncclInvalidUsage,
                {"device API"});
          REQUIRED(ncclLLA2ACalcSlots(8, 8) == 0);
          done(ncclCommDestroy(comm));
        }) == "");
}

TEST_CASE("a group with a refused call makes no call") {
  CHECK(run_alone([] {
          std::array<ncclComm_t, 2> comms{};
          done(ncclCommInitAll(comms.data(), 2, nullptr));
          int value = 3;
          done(ncclGroupStart());
          done(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comms[0], nullptr));
          REQUIRED(ncclBcast(&value, 1, ncclInt32, 5, comms[1], nullptr) == ncclInvalidArgument);
          ncclComm_t child = comms[0];
          REQUIRED(ncclGroupStart() == ncclSuccess);
          REQUIRED(ncclGroupEnd() == ncclSuccess);  // an inner end does nothing
          REQUIRED(ncclCommSplit(comms[1], 0, 0, &child, nullptr) == ncclInvalidUsage);  // has a call here
          fails(ncclGroupEnd(), ncclInvalidArgument, {"root is 5"});
          REQUIRED(value == 3);
          REQUIRED(child == nullptr);
          std::array<int, 2> values{1, 2};
          done(ncclGroupStart());
          for (size_t i = 0; i < 2; ++i)
            done(ncclAllReduce(&values[i], &values[i], 1, ncclInt32, ncclSum, comms[i], nullptr));
          done(ncclGroupEnd());
          REQUIRED(values == std::array<int, 2>{3, 3});
          for (ncclComm_t comm : comms) done(ncclCommDestroy(comm));
        }) == "");
}

TEST_CASE("ranks that disagree are told about both calls") {
  CHECK(run_processes(2, [](const Start& start) {
          const Comm comm(start);
          std::array<int, 8> values{};
          const size_t count = start.rank == 0 ? 4 : 8;
          const ncclResult_t result =
              ncclAllReduce(values.data(), values.data(), count, ncclInt32, ncclSum, comm.get(), nullptr);
          fails(result, ncclInvalidUsage, {"ncclAllReduce", "rank 0", "rank 1", "count=4", "count=8"},
                comm.get());
          ncclResult_t state = ncclSuccess;
          done(ncclCommGetAsyncError(comm.get(), &state));
          require(state == ncclInvalidUsage, "no asynchronous error");
        }) == "");
}

TEST_CASE("an abort ends the call in which another thread is blocked, here and on other ranks") {
  for (const bool processes : {true, false}) {
    INFO(processes);
    const Ranks body = [](const Start& start) {
      Comm comm(start);
      check_sum(comm.get(), 2);
      if (start.rank == 1) {  // notices without making a call
        while (settled(comm.get()) == ncclSuccess) sleep_ms(1);
        require(settled(comm.get()) == ncclRemoteError, "another error");
        return;
      }
      End end;
      ncclComm_t blocked = comm.release();
      std::thread other([&] { end = call_until_failure(blocked); });
      sleep_ms(100);
      const double aborted = seconds_now();
      done(ncclCommAbort(blocked));
      require(seconds_now() - aborted < kNews_s, "the abort waits");
      other.join();
      require(end.result == ncclRemoteError, "the blocked call returned " + std::to_string(end.result));
    };
    CHECK((processes ? run_processes(2, body) : run_threads(2, body)) == "");
  }
}

TEST_CASE("a killed rank is named within a second, and the others shrink and continue") {
  const Shared<std::atomic<double>> killed_at;
  CHECK(run_processes(4, [&](const Start& start) {
          constexpr int kVictim = 1;
          const Comm comm(start);
          check_sum(comm.get(), 4);
          if (start.rank == kVictim) {
            sleep_ms(50);
            killed_at->store(seconds_now());
            ::kill(::getpid(), SIGKILL);
          }
          const End end = call_until_failure(comm.get());
          fails(end.result, ncclRemoteError, {"rank 1"}, comm.get());
          require(end.at - killed_at->load() < kNews_s, "late");
          std::array<int, 1> excluded{kVictim};
          Comm left;
          done(ncclCommShrink(comm.get(), excluded.data(), 1, left.out(), nullptr, nccl::kShrinkAbort),
               comm.get());
          check_sum(left.get(), 3);
          int rank = -1;
          done(ncclCommUserRank(left.get(), &rank));
          require(rank == (start.rank == 0 ? 0 : start.rank - 1), "wrong rank");
        }) == "");
}

TEST_CASE("a shrink that includes a dead rank says which rank to exclude as well") {
  CHECK(run_processes(3, [](const Start& start) {
          const Comm comm(start);
          check_sum(comm.get(), 3);
          if (start.rank == 2) sleep_ms(50);
          if (start.rank == 2) ::kill(::getpid(), SIGKILL);
          call_until_failure(comm.get());
          std::array<int, 1> excluded{1};
          Comm left;
          if (start.rank == 0)
            fails(ncclCommShrink(comm.get(), excluded.data(), 1, left.out(), nullptr, 0), ncclRemoteError,
                  {"rank 2"}, comm.get());
          require(left.get() == nullptr, "a communicator");
        }) == "");
}

TEST_CASE("an abort within a group cancels the group's calls") {
  CHECK(run_alone([] {
          std::array<ncclComm_t, 2> comms{};
          done(ncclCommInitAll(comms.data(), 2, nullptr));
          int value = 3;
          done(ncclGroupStart());
          for (ncclComm_t comm : comms)
            done(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
          REQUIRED(ncclCommDestroy(comms[0]) == ncclInvalidUsage);
          for (ncclComm_t comm : comms) done(ncclCommAbort(comm));
          REQUIRED(ncclGroupEnd() == ncclInvalidUsage);
          REQUIRED(value == 3);
        }) == "");
}

}  // namespace rondo::test
