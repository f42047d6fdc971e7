// SPDX-License-Identifier: Apache-2.0
// How calls on GPU memory are carried out if no NVLink joins the GPUs and their host is described: short ones
// as on any host, long ones along the links.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange.h"
#include "folder.h"
#include "gpu.h"
#include "machine_file.h"
#include "process.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr int kGpus = 8;
constexpr size_t kShort = 301, kLong = size_t{1} << 17;  // floats

std::vector<std::string> devices() {
  std::vector<std::string> names;
  for (int dev = 0; dev < kGpus; ++dev) names.push_back(fmt::format("cuda:{}", dev));
  return names;
}

std::string described(const Folder& folder, const char* machine) {
  const Outcome outcome = Process([&] { file_of_these_gpus(folder, machine, kGpus); }).wait();
  REQUIRE(outcome.failure() == "");
  return folder / machine;
}

/// An all_reduce is right, and went by `algorithm`.
void run_by(Rank rank, size_t count, const std::string& algorithm) {
  const ForeignMemory memory = foreign_memory(gpu::MemoryKind::Device, rank.rank % kGpus);
  rank.memory = &memory;
  run_trial(rank, {.kind = Kind::AllReduce, .count = count});
  require(last_algorithm(rank) == algorithm,
          fmt::format("{} floats went by {}", count, last_algorithm(rank)));
}

// Processes first: one that has used CUDA cannot fork ranks that use it.

TEST_CASE("processes whose GPUs meet at a socket link reduce long vectors along the links") {
  if (children_lack_gpus(kGpus) || lacks_standin()) return;
  const Folder folder, turns;
  const std::string path = described(folder, "pcie-8gpu");
  const WorldOptions world{.nranks = kGpus,
                           .devices = devices(),
                           .environment = {{"RONDO_TOPO_FILE", path}, {"RONDO_STANDIN_DIR", turns.path()}}};
  expect_success(run_world(world, [&](Rank rank) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      run_by(rank, kShort, "gpu_staged");
      run_by(rank, kLong, "forest");
    }
  }));
}

TEST_CASE("reproducible calls keep to one order, and so to one executor") {
  if (children_lack_gpus(kGpus) || lacks_standin()) return;
  const Folder folder, turns;
  const std::string path = described(folder, "pcie-8gpu");
  const WorldOptions world{
      .nranks = kGpus,
      .devices = devices(),
      .environment = {
          {"RONDO_TOPO_FILE", path}, {"RONDO_STANDIN_DIR", turns.path()}, {"RONDO_REPRODUCIBLE", "1"}}};
  expect_success(run_world(world, [&](Rank rank) { run_by(rank, kLong, "gpu_staged"); }));
}

TEST_CASE("a host without a description, or of which ranks have different ones, is not known") {
  if (children_lack_gpus(kGpus) || lacks_standin()) return;
  const Folder folder, turns;
  const std::string mine = described(folder, "pcie-8gpu"), other = described(folder, "dgx-1v");
  for (const bool differ : {false, true}) {
    std::vector<std::unique_ptr<Process>> ranks;
    const std::string meeting = fmt::format("file://{}/meeting{}?size={}", folder.path(), differ, kGpus);
    for (int rank = 0; rank < kGpus; ++rank)
      ranks.push_back(std::make_unique<Process>([&, rank] {
        const Environment turn("RONDO_STANDIN_DIR", turns.path());
        std::optional<Environment> file;
        if (differ) file.emplace("RONDO_TOPO_FILE", rank == 5 ? other : mine);
        const std::string device = fmt::format("cuda:{}", rank);
        rondo_config_t config = RONDO_CONFIG_INITIALIZER;
        config.device = device.c_str();
        Rank self{.rank = rank, .size = kGpus};
        check(rondo_init(&self.comm, fmt::format("{}&rank={}", meeting, rank).c_str(), &config));
        run_by(self, kLong, "gpu_staged");
        check(rondo_finalize(self.comm));
        check(rondo_destroy(self.comm));
      }));
    for (const auto& rank : ranks) {
      const Outcome outcome = rank->wait(60);
      INFO(differ);
      CHECK(outcome.failure() == "");
    }
  }
}

TEST_CASE("threads, which share graphs, go direct") {
  if (lacks_gpus(kGpus) || lacks_standin()) return;
  const Folder folder;
  const Environment file("RONDO_TOPO_FILE", file_of_these_gpus(folder, "pcie-8gpu", kGpus));
  expect_success(run_world({.nranks = kGpus, .devices = devices(), .threads = true}, [&](Rank rank) {
    run_by(rank, kShort, "gpu_direct");
    run_by(rank, kLong, "gpu_direct");
  }));
}

}  // namespace
}  // namespace rondo::test
