// SPDX-License-Identifier: Apache-2.0
// GPU collectives by the device's executor, over connections served by the proxy: every algorithm, transport
// and form, against the oracle.
#include <array>

#include "calls.h"
#include "exchange.h"
#include "gpu.h"
#include "worlds.h"

namespace rondo::test {
namespace {

TEST_CASE("random calls are right over every transport, for ranks of one process") {
  if (lacks_gpus()) return;
  const Environment slots("RONDO_SLOT_BYTES", "512");
  for (const char* transport : {"shm", "tcp", "sim"})
    for (const int nranks : {2, 3}) {
      INFO(transport << ", " << nranks << " ranks");
      expect_success(
          run_world({.nranks = nranks, .transport = transport, .devices = {"cuda:0"}, .threads = true},
                    [&](Rank& rank) { random_calls(rank, 0, 70'000, 25); }));
    }
}

TEST_CASE("every algorithm of every collective runs on the GPU") {
  if (lacks_gpus()) return;
  const Environment slots("RONDO_SLOT_BYTES", "512");
  const Environment groups = in_groups(4);
  for (const Kind kind : kAllCollectives) {
    if (kind == Kind::Barrier) continue;  // has no GPU memory
    for (const std::string& name : algorithms_of(collective_name(kind), 4)) {
      const std::string algorithm = std::string(collective_name(kind)) + "=" + name;
      INFO(algorithm);
      expect_success(run_world({.nranks = 4, .algorithm = algorithm, .devices = {"cuda:0"}, .threads = true},
                               [&](Rank rank) {
                                 const ForeignMemory memory = foreign_memory(gpu::MemoryKind::Device, 0);
                                 rank.memory = &memory;
                                 run_trial(rank, {.kind = kind, .count = 301, .root = 1});
                                 require(last_algorithm(rank) == name, last_algorithm(rank));
                               }));
    }
  }
}

TEST_CASE("ranks that make different calls over connections are told about both") {
  if (lacks_gpus()) return;
  expect_success(run_world(
      {.nranks = 2, .transport = "tcp", .devices = {"cuda:0", "cuda:0"}, .threads = true}, [](Rank& rank) {
        const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(4096);
        const int root = rank.rank;
        check_fails(rondo_broadcast(memory.get(), memory.get(), 100, RONDO_INT32, root, rank.comm, nullptr),
                    RONDO_MISMATCH, {"root=0", "root=1"}, rank.comm);
      }));
}

}  // namespace
}  // namespace rondo::test
