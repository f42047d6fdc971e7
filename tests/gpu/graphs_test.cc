// SPDX-License-Identifier: Apache-2.0
// GPU calls between processes in CUDA graphs: captured once, replayed often, mixed with uncaptured calls.
#include "graph.h"
#include "processes.h"
#include "scoped_environment.h"

namespace rondo::test {
namespace {

constexpr size_t kCount = 700;  // two tiles

/// Each sum multiplies by the number of ranks, which is odd, so that each replay changes the value.
void replay_often(Rank& rank, int ordinal) {
  constexpr int kReplays = 1000;
  Device device(ordinal);
  int64_t* const data = device.ints(kCount, rank.rank + 1);
  const auto sum = [&] {
    check(rondo_all_reduce(data, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, device.handle()),
          rank.comm);
  };
  const Graph graph(device.stream(), [&] { sum(); });  // the very first call
  auto expected = static_cast<uint64_t>(rank.size * (rank.size + 1) / 2);
  graph.replay();
  for (int i = 0; i < kReplays; ++i) {
    graph.replay();
    expected *= static_cast<uint64_t>(rank.size);
    if (i % 10 != 3) continue;
    sum();
    expected *= static_cast<uint64_t>(rank.size);
  }
  device.drain_s();
  require(device.all_are(data, kCount, static_cast<int64_t>(expected)), "the sum of sums is wrong");
}

TEST_CASE("a captured call can be replayed any number of times") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(
      run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) { replay_often(rank, 0); }));
}

TEST_CASE("a call over memory shared between GPUs can be replayed any number of times") {
  const Environment devices("RONDO_STANDIN_DEVICES", "3");
  if (children_lack_gpus(3)) return;
  WorldOptions options = processes(3, {"cuda:0", "cuda:1", "cuda:2"});
  options.algorithm = "all_reduce=ring";
  expect_success(run_world(options, [](Rank& rank) { replay_often(rank, rank.rank); }));
}

TEST_CASE("replays are right whatever the timing of the streams") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const char* seed : {"1", "2", "3"})
    expect_success(run_world(
        processes(3, {"cuda:0"},
                  folder.with({kTight, {"RONDO_STANDIN_SEED", seed}, {"RONDO_STANDIN_QUEUES", "1"}})),
        [](Rank& rank) {
          Device device(0);
          int64_t* const data = device.ints(kCount, rank.rank);
          int64_t* const all = device.ints(kCount * static_cast<size_t>(rank.size), -1);
          const Graph graph(device.stream(), [&] {
            check(rondo_broadcast(data, data, kCount, RONDO_INT64, 1, rank.comm, device.handle()), rank.comm);
            check(rondo_all_gather(data, all, kCount, RONDO_INT64, rank.comm, device.handle()), rank.comm);
            check(rondo_reduce_scatter(all, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, device.handle()),
                  rank.comm);
          });
          int64_t expected = 1;
          for (int i = 0; i < 20; ++i) {
            graph.replay();
            expected *= rank.size;
          }
          device.drain_s();
          require(device.all_are(data, kCount, expected), "replays");
        }));
}

TEST_CASE("calls on different streams keep their order") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const char* queues : {"0", "1", "2"})
    expect_success(run_world(
        processes(2, {"cuda:0"}, folder.with({kTight, {"RONDO_STANDIN_QUEUES", queues}})), [](Rank& rank) {
          Device first(0);
          Device second(0);
          int64_t* const data = first.ints(kCount, 1);
          for (int i = 0; i < 30; ++i) {
            const Device& device = i % 3 == 0 ? second : first;
            check(rondo_all_reduce(data, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, device.handle()),
                  rank.comm);
          }
          first.drain_s();
          second.drain_s();
          require(first.all_are(data, kCount, int64_t{1} << 30), "sums");
        }));
}

}  // namespace
}  // namespace rondo::test
