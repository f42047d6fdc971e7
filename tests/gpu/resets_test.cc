// SPDX-License-Identifier: Apache-2.0
// GPUs lost while a communicator uses them: the process resets them, or a kernel breaks them. All ranks learn
// which GPU it was, and no rank keeps waiting.
#include "failing.h"

namespace rondo::test {
namespace {

/// Called when all ranks have finished their calls so far.
void reset(int device) {
  sleep_ms(100);
  require_cu(CU(cuDevicePrimaryCtxReset)(device), "cuDevicePrimaryCtxReset");
}

/// Expects the error of a call whose own GPU was reset, or that of rank `of`.
void check_reset(rondo_status_t status, const Rank& rank, int of, int device = 0) {
  check_fails(status, RONDO_SYSTEM_ERROR,
              {": rank " + std::to_string(of) + " (", "): GPU " + std::to_string(device) + " was reset"},
              rank.comm);
}

void require_over_soon(const Rank& rank, double limit_s = kSoon_s) {
  const double start = seconds_now();
  require(rondo_finalize(rank.comm) != RONDO_OK, "rondo_finalize() knows of no failure");
  const double took = seconds_now() - start;
  require(took < limit_s, "rondo_finalize() took " + std::to_string(took) + " s");
}

TEST_CASE("a GPU reset between calls is named on all ranks") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const bool on_stream : {false, true}) {
    INFO((on_stream ? "on streams" : "blocking"));
    expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [&](Rank& rank) {
      Device device(0);
      int64_t* const data = device.ints(kCount, 1);
      sum(rank, data, nullptr);
      if (rank.rank == 0) reset(0);
      const rondo_stream_t stream = on_stream ? device.handle() : nullptr;
      if (try_sum(rank, data, stream) == RONDO_OK) {
        require(failure_of(rank.comm, 10) == RONDO_SYSTEM_ERROR, "no rank reported it");
        require(device.drain_s() < kSoon_s, "slow");
      }
      check_reset(try_sum(rank, data, stream), rank, 0);
      check_reset(try_sum(rank, data, nullptr), rank, 0);
      require_over_soon(rank);
    }));
  }
}

TEST_CASE("a GPU reset under a waiting stream is named on all ranks") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    int64_t* const data = device.ints(kCount, 1);
    sum(rank, data, nullptr);
    if (rank.rank == 0) sleep_ms(500);  // arrives after everything has failed
    static_cast<void>(try_sum(rank, data, device.handle()));
    if (rank.rank == 1) {
      reset(0);
    } else {
      require(failure_of(rank.comm, 10) == RONDO_SYSTEM_ERROR, "no rank reported it");
      require(device.drain_s() < kSoon_s, "slow");
    }
    check_reset(try_sum(rank, data, device.handle()), rank, 1);
    require_over_soon(rank);
  }));
}

TEST_CASE(
    "a GPU reset under a stream whose peer never comes returns once the deadline has released the stream") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  WorldOptions options = processes(2, {"cuda:0"}, folder.with({kTight}));
  options.call_timeout_ms = 1500;
  expect_success(run_world(options, [](Rank& rank) {
    Device device(0);
    int64_t* const data = device.ints(kCount, 1);
    sum(rank, data, nullptr);
    if (rank.rank == 1) {
      sum(rank, data, device.handle());
      const double start = seconds_now();
      reset(0);
      const double took = seconds_now() - start;
      require(took > 1 && took < 1.5 + kSoon_s, "the reset took " + std::to_string(took) + " s");
    }
    require(failure_of(rank.comm, 10) == RONDO_TIMEOUT, "no timeout");
    require_over_soon(rank);
  }));
}

TEST_CASE("rondo_destroy() returns after a reset that no call has noticed") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    int64_t* const data = device.ints(kCount, 1);
    sum(rank, data, nullptr);
    sum(rank, data, device.handle());
    require_ok(gpu::synchronize(device.stream()));
    reset(0);
    check(rondo_finalize(rank.comm), rank.comm);
  }));
}

TEST_CASE("a GPU reset during a message waits for it, and the next message names the reset") {
  if (children_lack_gpus()) return;
  for (const bool on_stream : {false, true}) {
    INFO((on_stream ? "on a stream" : "blocking"));
    expect_success(run_world(processes(2, {"cuda:0"}), [&](Rank& rank) {
      Device device(0);
      int64_t* const data = device.ints(kCount, 1);
      if (rank.rank == 0) {
        sleep_ms(300);
        // On a busy machine the news of the next message may be here before the call has returned.
        const rondo_status_t sent = rondo_send(data, kCount, RONDO_INT64, 1, 0, rank.comm, nullptr);
        require(sent == RONDO_OK || sent == RONDO_SYSTEM_ERROR, "the message failed otherwise");
        require(failure_of(rank.comm, 10) == RONDO_SYSTEM_ERROR, "no rank reported it");
      } else {
        const auto receive = [&](rondo_stream_t stream) {
          return rondo_recv(data, kCount, RONDO_INT64, 0, 0, rank.comm, stream, nullptr);
        };
        if (on_stream) check(receive(device.handle()), rank.comm);
        std::thread resets([] { reset(0); });
        const rondo_status_t during = on_stream ? RONDO_OK : receive(nullptr);
        resets.join();
        if (during != RONDO_OK) check_reset(during, rank, 1);
        check_reset(receive(nullptr), rank, 1);
      }
      require_over_soon(rank);
    }));
  }
}

/// Ranks of one process on two GPUs, one of which is reset. Kernels that use the other GPU's memory, which
/// the reset frees, have finished by then.
void lose_in_one_process(const char* transport) {
  const Party party(3, "cuda:0,1", transport);
  std::vector<std::shared_ptr<std::byte>> data;
  for (int rank = 0; rank < party.size(); ++rank)
    data.push_back(party.memory(rank).allocate(kCount * sizeof(int64_t)));
  const auto sum_all = [&](bool on_streams) {
    check(rondo_group_start());
    for (int rank = 0; rank < party.size(); ++rank) {
      auto* const own = reinterpret_cast<int64_t*>(data[static_cast<size_t>(rank)].get());
      const rondo_status_t status = try_sum(party.rank(rank), own, on_streams ? party.handle(rank) : nullptr);
      if (status != RONDO_OK) check_reset(status, party.rank(rank), 1, 1);
    }
    return rondo_group_end();
  };
  check(sum_all(false));
  check(sum_all(true));
  if (transport == nullptr) party.synchronize();
  reset(1);
  sum_all(false);
  for (int rank = 0; rank < party.size(); ++rank) {
    require(failure_of(party.comm(rank), kSoon_s) == RONDO_SYSTEM_ERROR, "not heard of");
    auto* const own = reinterpret_cast<int64_t*>(data[static_cast<size_t>(rank)].get());
    check_reset(try_sum(party.rank(rank), own, nullptr), party.rank(rank), 1, 1);
    require_over_soon(party.rank(rank));
  }
}

TEST_CASE("ranks of one process are told that one of their GPUs was reset") {
  if (children_lack_gpus(2)) return;
  for (const char* transport : std::initializer_list<const char*>{nullptr, "tcp"}) {
    INFO((transport != nullptr ? transport : "gpu_direct"));
    expect_success(run_world({.nranks = 1}, [&](Rank&) { lose_in_one_process(transport); }));
  }
}

/// Retains the GPU's context again and allocates more memory than was in use before.
std::vector<CUdeviceptr> start_again(int device) {
  CUcontext context = nullptr;
  require_cu(CU(cuDevicePrimaryCtxRetain)(&context, device), "cuDevicePrimaryCtxRetain");
  require_cu(CU(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
  std::vector<CUdeviceptr> memory(1000);
  for (CUdeviceptr& one : memory) require_cu(CU(cuMemAlloc)(&one, 512), "cuMemAlloc");
  return memory;
}

TEST_CASE("Rondo does not free what a process allocates after it has reset a GPU") {
  if (children_lack_gpus()) return;
  expect_success(run_world({.nranks = 1}, [](Rank&) {
    std::vector<CUdeviceptr> memory;
    {
      const Party party(2, "cuda:0", "tcp");
      const auto data = party.memory(0).allocate(kCount * sizeof(int64_t));
      auto* const ints = reinterpret_cast<int64_t*>(data.get());
      check(rondo_group_start());
      for (int rank = 0; rank < party.size(); ++rank)
        check(rondo_broadcast(ints, ints, kCount, RONDO_INT64, 0, party.comm(rank), nullptr));
      check(rondo_group_end());
      reset(0);
      memory = start_again(0);
      check_reset(try_sum(party.rank(0), reinterpret_cast<int64_t*>(memory[0]), nullptr), party.rank(0), 0);
    }
    for (const CUdeviceptr one : memory) require_cu(CU(cuMemFree)(one), "Rondo has freed it");
  }));
}

TEST_CASE("ranks without a GPU continue after the process has broken one") {
  if (children_lack_gpus() || lacks_standin()) return;
  const WorldOptions options{.nranks = 1, .environment = {{"RONDO_STANDIN_FAIL", "rondo_fold_list:1:700"}}};
  expect_success(run_world(options, [](Rank&) {
    rondo_comm_t alone = nullptr;
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.device = "cuda:0";
    check(rondo_init_all(&alone, 1, &config));
    Device device(0);
    int64_t* const data = device.ints(kCount, 1);
    check_fails(try_sum({alone}, data, nullptr), RONDO_SYSTEM_ERROR, {"rank 0", "GPU 0"}, alone);
    rondo_comm_t without = nullptr;
    config.device = "host";
    check(rondo_init_all(&without, 1, &config));
    std::vector<int64_t> from(kCount, 3);
    std::vector<int64_t> to(kCount, 0);
    check(rondo_all_reduce(from.data(), to.data(), kCount, RONDO_INT64, RONDO_SUM, without, nullptr),
          without);
    require(to == from, "the CPU's sum");
    check(rondo_destroy(without));
    check(rondo_destroy(alone));
  }));
}

TEST_CASE("a kernel that breaks its GPU is named on all ranks") {
  if (children_lack_gpus() || lacks_standin()) return;
  const TurnsFolder folder;
  for (const bool on_stream : {false, true}) {
    INFO((on_stream ? "on streams" : "blocking"));
    expect_success(run_world(
        processes(2, {"cuda:0"}, folder.with({kTight, {"RONDO_STANDIN_FAIL", "rondo_fold_list:40:700"}})),
        [&](Rank& rank) {
          Device device(0);
          int64_t* const data = device.ints(kCount, 1);
          rondo_status_t status = RONDO_OK;
          while (status == RONDO_OK) status = try_sum(rank, data, on_stream ? device.handle() : nullptr);
          check_fails(status, RONDO_SYSTEM_ERROR, {"GPU 0", "CUDA_ERROR_ILLEGAL_ADDRESS"}, rank.comm);
          require_over_soon(rank);
        }));
  }
}

}  // namespace
}  // namespace rondo::test
