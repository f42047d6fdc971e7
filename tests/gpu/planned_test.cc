// SPDX-License-Identifier: Apache-2.0
// GPU collectives along the links of a machine: each rank takes the place of its own GPU, which is found by
// its bus id.
#include <rondo/topology.h>

#include "exchange.h"
#include "failing.h"
#include "folder.h"
#include "gpu.h"
#include "machine_file.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr int kGpus = 8;

TEST_CASE("calls on GPUs follow the links of their machine") {
  if (lacks_gpus(kGpus) || lacks_standin()) return;
  const Folder folder;
  const Environment file("RONDO_TOPO_FILE", file_of_these_gpus(folder, "dgx-1v", kGpus));
  const Environment slots("RONDO_SLOT_BYTES", "512");
  std::vector<std::string> devices;
  for (int dev = 0; dev < kGpus; ++dev) devices.push_back(fmt::format("cuda:{}", (dev + 3) % kGpus));
  for (const Kind kind : {Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter, Kind::Broadcast,
                          Kind::Reduce, Kind::Gather, Kind::Scatter}) {
    const std::string algorithm = std::string(collective_name(kind)) + "=forest";
    INFO(algorithm);
    expect_success(run_world(
        {.nranks = kGpus, .algorithm = algorithm, .devices = devices, .threads = true}, [&](Rank rank) {
          const int device = (rank.rank + 3) % kGpus;
          const ForeignMemory memory = foreign_memory(gpu::MemoryKind::Device, device);
          rank.memory = &memory;
          for (const size_t count : {0u, 1u, 301u, 4001u})
            run_trial(rank, {.kind = kind, .count = count, .root = has_root(kind) ? 1 : 0});
          require(last_algorithm(rank) == "forest", last_algorithm(rank));
        }));
  }
}

TEST_CASE("a GPU that the machine's description lacks is named") {
  if (lacks_gpus(2) || lacks_standin()) return;
  const Folder folder;
  const std::string path = folder / "other.xml";
  rondo_topology_t topology = nullptr;
  check(rondo_topology_named(&topology, "hgx-a100", nullptr));
  check(rondo_topology_save(topology, path.c_str()));
  rondo_topology_free(topology);
  const Environment file("RONDO_TOPO_FILE", path);
  expect_success(run_world(
      {.nranks = 2, .algorithm = "broadcast=forest", .devices = {"cuda:0", "cuda:1"}, .threads = true},
      [](Rank& rank) {
        const rondo_status_t started = rondo_barrier(rank.comm, nullptr);  // fail only once all are up
        if (rank.rank != 0)  // it may learn of the failure while it is still in the barrier
          return require(failure_of(rank.comm, 10) == RONDO_INVALID_USAGE, "it was not told");
        check(started, rank.comm);
        const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(4096);
        check_fails(rondo_broadcast(memory.get(), memory.get(), 100, RONDO_INT32, 0, rank.comm, nullptr),
                    RONDO_INVALID_USAGE, {"broadcast by forest", "rank 0 has the GPU", "lacks"}, rank.comm);
      }));
}

}  // namespace
}  // namespace rondo::test
