// SPDX-License-Identifier: Apache-2.0
// Every collective on GPU memory, in all its forms, against the oracle. Ranks are threads that share a GPU or
// have one each.
#include "calls.h"

namespace rondo::test {
namespace {

WorldOptions threads(int nranks, std::vector<std::string> devices) {
  WorldOptions options{.nranks = nranks, .devices = std::move(devices), .threads = true};
  return options;
}

TEST_CASE("every collective is right for ranks that share a GPU") {
  if (lacks_gpus()) return;
  for (int nranks = 1; nranks <= 9; ++nranks) {
    INFO(nranks << " ranks");
    expect_success(run_world(threads(nranks, {"cuda:0"}), [](Rank& rank) { every_kind(rank, 0); }));
  }
}

TEST_CASE("sixteen ranks share a GPU") {
  if (lacks_gpus()) return;
  expect_success(run_world(threads(16, {"cuda:0"}), [](Rank& rank) { random_calls(rank, 0, 4000, 8); }));
}

TEST_CASE("every collective is right for ranks with a GPU each") {
  if (lacks_gpus(2)) return;
  for (const int nranks : {2, 3, 5}) {
    INFO(nranks << " ranks");
    expect_success(run_world(threads(nranks, {"cuda:0", "cuda:1"}),
                             [](Rank& rank) { every_kind(rank, rank.rank % 2); }));
  }
}

TEST_CASE("every type and operation is right in every collective on a GPU") {
  if (lacks_gpus()) return;
  expect_success(run_world(threads(3, {"cuda:0"}), [](Rank& rank) {
    for (const Trial& trial : every_type_and_operation(rank.size))
      run_here(rank, 0, gpu::MemoryKind::Device, trial);
  }));
}

TEST_CASE("random calls in device, pinned and managed memory are right") {
  if (lacks_gpus()) return;
  constexpr uint64_t kFirstSeed = 5000;
  for (const int nranks : {2, 4, 7})
    expect_success(run_world(threads(nranks, {"cuda:0"}), [](Rank& rank) {
      for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 60; ++seed) {
        const Trial trial = random_trial(seed, rank.size, 5000);
        // With pinned memory alone, the call would run on the host.
        const bool managed = mix(seed, 3) % 3 == 0;
        run_here(rank, 0, managed ? gpu::MemoryKind::Managed : gpu::MemoryKind::Device, trial);
      }
    }));
}

}  // namespace
}  // namespace rondo::test
