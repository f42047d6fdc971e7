// SPDX-License-Identifier: Apache-2.0
// GPU collectives along the links of a machine: each rank takes the place of its own GPU, which is found by
// its bus id.
#include <rondo/topology.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "exchange.h"
#include "failing.h"
#include "folder.h"
#include "formats/nccl_xml.h"
#include "gpu.h"
#include "graph/topology_graph.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr int kGpus = 8;

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Describes a well-known machine, whose GPU i is now this process's GPU i.
std::string file_of_these_gpus(const Folder& folder, const char* name) {
  const std::string path = folder / name;
  rondo_topology_t topology = nullptr;
  check(rondo_topology_named(&topology, name, nullptr));
  check(rondo_topology_save(topology, path.c_str()));
  rondo_topology_free(topology);
  std::string text = text_of(path);
  const TopologyGraph graph = TopologyGraph::build(machine_from_nccl_xml(text, name).take()).take();
  for (int dev = 0; dev < kGpus; ++dev)
    replace_all(text, graph.node(graph.gpus()[static_cast<size_t>(dev)]).bus_id, fmt::format("GPU {}", dev));
  replace_all(text, "\"0000:", "\"0001:");  // of switches, which could have the same
  for (int dev = 0; dev < kGpus; ++dev)
    replace_all(text, fmt::format("GPU {}", dev), gpu::bus_id(dev).take());
  std::ofstream(path) << text;
  return path;
}

TEST_CASE("calls on GPUs follow the links of their machine") {
  if (lacks_gpus(kGpus) || lacks_standin()) return;
  const Folder folder;
  const Environment file("RONDO_TOPO_FILE", file_of_these_gpus(folder, "dgx-1v"));
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
        if (rank.rank != 0)
          return require(failure_of(rank.comm, 10) == RONDO_INVALID_USAGE, "it was not told");
        const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(4096);
        check_fails(rondo_broadcast(memory.get(), memory.get(), 100, RONDO_INT32, 0, rank.comm, nullptr),
                    RONDO_INVALID_USAGE, {"broadcast by forest", "rank 0 has the GPU", "lacks"}, rank.comm);
      }));
}

}  // namespace
}  // namespace rondo::test
