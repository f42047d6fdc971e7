// SPDX-License-Identifier: Apache-2.0
// Forests of recorded machines: at the bound, with few trees, in little time and memory; also with links
// broken and among some of the GPUs.
#include <ctime>

#include "broken_links.h"
#include "catch.h"
#include "counted_memory.h"
#include "forest_checks.h"
#include "limit_machines.h"
#include "nccl_host.h"
#include "sanitized.h"

using namespace rondo;
using namespace rondo::test;

namespace {

// Without a limit in time, since other programs may leave a test little of it.
constexpr ForestOptions kNoHurry{.max_time = std::chrono::hours(1)};

BandwidthBound bound_of(const TopologyGraph& graph, std::span<const int> gpus) {
  auto bound = bandwidth_bound(graph, gpus, CollectiveKind::AllGather);
  REQUIRE(bound.status().message() == "");
  return bound.take();
}

/// To the tenth of a GB/s that reports show.
std::string shown(const Rational& kBps) { return fmt::format("{:.1f}", kBps.approximate() / 1e6); }

TopologyGraph fabric_of(const TopologyGraph& graph) { return fabric_or_all(graph, graph.gpus()); }

struct Row {
  std::string machine;
  double bus;  // GB/s
  int64_t k;
  size_t trees;  // at most
  int depth;     // at most
};

// By NVLink or xGMI alone, if it joins all GPUs.
const Row kRows[] = {
    {"nvidia-dgx1v-8xv100", 120, 6, 32, 3},        {"simai-hgx-a100-8gpu-4cx6", 240, 1, 8, 1},
    {"oci-bm-gpu4-8xa100-40g", 240, 1, 8, 1},      {"vastai-hgx-h200-8gpu", 370.8, 1, 8, 1},
    {"oci-bm-gpu-h100-8gpu", 370.8, 1, 8, 1},      {"vastai-hgx-b200-8gpu", 721.8, 1, 8, 1},
    {"lab-hgx-h800-8gpu-8x400g", 164.8, 1, 8, 1},  {"lab-2xa100pcie-nvbridge", 240, 1, 2, 1},
    {"oneflow-8xrtx3090-pcie-1ib", 17.5, 1, 8, 3}, {"lab-8xrtx4000ada-pcie", 24, 1, 8, 3},
    {"amd-mi100-2hive-8gpu", 96, 4, 25, 5},        {"amd-rome-8gpu-4x200g", 84, 1, 8, 2},
    {"amd-mi250-8gcd-4x200g", 210, 5, 20, 4},      {"amd-mi250-16gcd-8x200g", 231.4, 3, 32, 9},
    {"amd-mi300x-8gpu-8x400g", 336, 1, 8, 1},
};

void check(const TopologyGraph& graph, const Row& row) {
  CAPTURE(row.machine);
  const Forest forest = forest_of(graph, kNoHurry);
  CHECK(forest.bus_kBps == bound_of(graph, graph.gpus()).bus);
  CHECK(shown(forest.bus_kBps) == fmt::format("{:.1f}", row.bus));
  CHECK(forest.k == row.k);
  CHECK(forest.trees.size() <= row.trees);
  CHECK(forest.depth() <= row.depth);
}

/// Searches with what keeps a broken or partial machine joined, if anything does.
int check_nearly_at_bound(const TopologyGraph& graph, std::span<const int> gpus) {
  const TopologyGraph links = fabric_or_all(graph, gpus);
  const BandwidthBound bound = bound_of(links, gpus);
  if (bound.ceiling == 0) return 0;
  CHECK(reaches(forest_of(links, gpus, kNoHurry).bus_kBps, bound.bus, 950));
  return 1;
}

double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("forests of recorded machines reach the bound with the fewest trees a root") {
  for (const Row& row : kRows)
    if (const auto machine = recorded_machine(row.machine)) check(fabric_of(graph_of(*machine)), row);
}

TEST_CASE("GPUs that share uplinks, and NVLinks that are repaired, reach their bounds too") {
  if (const auto machine = recorded_machine("oneflow-8xrtx3090-pcie-1ib")) {
    auto graph = TopologyGraph::build(*machine, {.p2p_below_switches = false});
    REQUIRE(graph.ok());
    check(graph.value(), {"without P2P", 5, 1, 8, 3});
  }
  if (auto machine = recorded_machine("azure-ncv4-4xa100pcie")) {
    check(graph_of(*machine), {"NVLinks from GPUs to themselves", 12, 1, 4, 1});
    for (int dev = 0; dev != 4; ++dev)
      for (FabricLinks& links : find_gpu(*machine, dev)->links)
        links.target_bus_id = bus_id_of(*machine, dev ^ 1);
    check(graph_of(*machine), {"NVLinks between pairs", 36, 1, 4, 2});
  }
}

TEST_CASE("with a broken NVLink the forest uses all that its GPUs have left") {
  for (const int peer : {3, 1, 4}) {
    auto machine = recorded_machine("nvidia-dgx1v-8xv100");
    if (!machine) return;
    break_link(*machine, 0, peer);
    check(fabric_of(graph_of(*machine)), {fmt::format("without a link from 0 to {}", peer), 100, 5, 20, 3});
  }
  auto machine = recorded_machine("vastai-hgx-h200-8gpu");
  --find_gpu(*machine, 3)->links[0].count;
  check(fabric_of(graph_of(*machine)), {"without a link of GPU 3", 350.2, 1, 8, 1});
}

TEST_CASE("every recorded machine has a forest at its bound, in little time and memory") {
  int machines = 0;
  const std::vector<std::string> paths = recorded_topologies();
  for (const std::string& path : paths) {
    CAPTURE(path);
    const TopologyGraph graph = graph_of(recorded(path));
    if (graph.gpus().size() < 2) continue;
    ++machines;
    const TopologyGraph links = fabric_of(graph);
    const CountedMemory memory;
    const double start_ms = cpu_ms();
    const auto forest = find_forest(links, links.gpus(), kNoHurry);
    const double took_ms = cpu_ms() - start_ms;
    CHECK(memory.peak_bytes() < (size_t{16} << 20));
    // 10 and 50 ms are meant; a machine whose CPUs are shared may take several times as long.
    if (!kSanitized) CHECK(took_ms < 4 * (links.gpus().size() <= 8 ? 10 : 50));
    REQUIRE(forest.ok());
    CHECK(forest.value().bus_kBps == bound_of(links, links.gpus()).bus);
    CHECK(forest.value().k <= 6);
  }
  CHECK((machines >= 27 || paths.empty()));
}

TEST_CASE("with any link broken a forest reaches 95% of its bound") {
  int searched = 0;
  const std::vector<std::string> paths = recorded_topologies();
  for (const std::string& path : paths) {
    const TopologyGraph graph = graph_of(recorded(path));
    if (graph.gpus().size() < 2) continue;
    for (const TopologyLink& link : one_of_each_kind(graph)) {
      for (const bool whole : {false, true}) {
        for (const bool both : {false, true}) {
          CAPTURE(path, graph.node(link.from).name, graph.node(link.to).name, whole, both);
          searched += check_nearly_at_bound(broken(graph, link, whole, both), graph.gpus());
        }
      }
    }
  }
  CHECK((searched > 500 || paths.empty()));
}

TEST_CASE("between any two GPUs, and any four of eight, a forest reaches 95% of its bound") {
  int searched = 0;
  const std::vector<std::string> paths = recorded_topologies();
  for (const std::string& path : paths) {
    CAPTURE(path);
    const TopologyGraph graph = graph_of(recorded(path));
    for (const std::vector<int>& some : pairs_and_fours(graph)) {
      CAPTURE(some);
      searched += check_nearly_at_bound(graph, some);
    }
  }
  CHECK((searched > 1000 || paths.empty()));
}
