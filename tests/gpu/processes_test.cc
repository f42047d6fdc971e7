// SPDX-License-Identifier: Apache-2.0
// Ranks in several processes of a host make GPU calls together, however many share a device and whatever else
// keeps it busy.
#include "processes.h"
#include "calls.h"

namespace rondo::test {
namespace {

void is_staged(const Rank& rank) {
  require(last_algorithm(rank) == "gpu_staged", "went by " + last_algorithm(rank));
}

TEST_CASE("processes that share a GPU make every collective right") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const int nranks : {2, 3, 5}) {
    INFO(nranks << " ranks");
    expect_success(run_world(processes(nranks, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
      every_kind(rank, 0);
      is_staged(rank);
    }));
  }
}

TEST_CASE("sixteen processes share a GPU") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  const std::pair<std::string, std::string> little{"RONDO_STAGING_BYTES", "131072"};
  expect_success(run_world(processes(16, {"cuda:0"}, folder.with({little})), [](Rank& rank) {
    random_calls(rank, 0, 4000, 8);
    is_staged(rank);
  }));
}

TEST_CASE("processes with two GPUs make every collective right") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  for (const int nranks : {2, 4}) {
    INFO(nranks << " ranks");
    expect_success(run_world(processes(nranks, {"cuda:0", "cuda:1"}, folder.with({kTight})),
                             [](Rank& rank) { every_kind(rank, rank.rank % 2); }));
  }
}

TEST_CASE("processes of several ranks make every collective right") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"cuda:0"}, {"cuda:0", "cuda:1"}, {"cuda:0", "cuda:0", "cuda:1", "cuda:1"}}) {
    WorldOptions options = processes(4, devices, folder.with({kTight}));
    options.ranks_each = 2;
    expect_success(run_world(options, [&](Rank& rank) {
      every_kind(rank, devices[static_cast<size_t>(rank.rank) % devices.size()].back() - '0');
      is_staged(rank);
    }));
  }
}

TEST_CASE("random calls of processes are right") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  constexpr uint64_t kFirstSeed = 7000;
  for (const int nranks : {2, 3, 4})
    expect_success(run_world(processes(nranks, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
      for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 40; ++seed)
        run_here(rank, 0, gpu::MemoryKind::Device, random_trial(seed, rank.size, 5000));
    }));
}

TEST_CASE("long sums between processes are right") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const auto& staging : {kTight, std::pair<std::string, std::string>{"RONDO_STAGING_BYTES", "200704"}})
    expect_success(run_world(processes(3, {"cuda:0"}, folder.with({staging})), [](Rank& rank) {
      for (const rondo_type_t type : {RONDO_FLOAT32, RONDO_FLOAT16, RONDO_INT8, RONDO_COMPLEX128})
        for (const rondo_op_t op : {RONDO_SUM, RONDO_AVG, RONDO_MAX}) {
          if (!op_takes(op, type)) continue;
          Trial trial{.count = 30'011, .type = type, .op = op, .seed = mix(static_cast<uint64_t>(op))};
          run_here(rank, 0, gpu::MemoryKind::Device, trial);
          trial.in_place = true;
          run_here(rank, 0, gpu::MemoryKind::Device, trial);
        }
    }));
}

TEST_CASE("every rank's operands are multiplied by its own scalar") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    const int64_t scalar = rank.rank + 2;
    rondo_op_t op{};
    check(rondo_op_create_premul_sum(&scalar, RONDO_INT64, &op));
    for (const size_t count : {7u, 3000u, 20'000u}) {
      int64_t* const data = device.ints(count, 10);
      check(rondo_all_reduce(data, data, count, RONDO_INT64, op, rank.comm, nullptr), rank.comm);
      require(device.all_are(data, count, 10 * (2 + 3 + 4)), "all_reduce");
      int64_t* const sum = device.ints(count, -1);
      check(rondo_reduce(data, sum, count, RONDO_INT64, op, 1, rank.comm, nullptr), rank.comm);
      require(device.all_are(sum, count, rank.rank == 1 ? 90 * 9 : -1), "reduce");
    }
    check(rondo_op_destroy(op));
  }));
}

TEST_CASE("GPUs that cannot access each other exchange through host memory") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  const auto works = [](Rank& rank) {
    every_kind(rank, rank.rank % 2);
    is_staged(rank);
  };
  expect_success(run_world(
      processes(3, {"cuda:0", "cuda:1"}, folder.with({kTight, {"RONDO_STANDIN_PEERS", "0"}})), works));
  expect_success(run_world(
      processes(2, {"cuda:0", "cuda:1"}, folder.with({kTight, {"RONDO_STANDIN_FAIL", "cuMemCreate:1:801"}})),
      works));
}

TEST_CASE("ranks whose GPUs cannot share memory say so, and continue without it") {
  if (children_lack_gpus() || lacks_standin()) return;
  const TurnsFolder folder;
  std::string faults;
  for (int call = 1; call <= 8; ++call) faults += "cuMemHostRegister_v2:" + std::to_string(call) + ":801,";
  expect_success(
      run_world(processes(3, {"cuda:0"}, folder.with({{"RONDO_STANDIN_FAIL", faults}})), [](Rank& rank) {
        Device device(0);
        int64_t* const data = device.ints(10, 1);
        for (int i = 0; i < 2; ++i)
          check_fails(rondo_all_reduce(data, data, 10, RONDO_INT64, RONDO_SUM, rank.comm, nullptr),
                      RONDO_UNSUPPORTED, {"GPU memory cannot be shared", "rank 0"}, rank.comm);
        int64_t on_host = 1;
        check(rondo_all_reduce(&on_host, &on_host, 1, RONDO_INT64, RONDO_SUM, rank.comm, nullptr), rank.comm);
        require(on_host == rank.size, "the CPU's sum");
      }));
}

}  // namespace
}  // namespace rondo::test
