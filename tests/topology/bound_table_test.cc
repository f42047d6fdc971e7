// SPDX-License-Identifier: Apache-2.0
// The bounds of recorded machines, of hosts joined by networks, and of machines with broken links.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "catch.h"
#include "formats/nccl_xml.h"
#include "limit/bound.h"
#include "limit_machines.h"
#include "sanitized.h"

using namespace rondo;
using namespace rondo::test;

namespace {

struct Expected {
  std::string machine;
  double fabric;      // GB/s
  double all;         // GB/s
  std::string limit;  // of fabric
};

// NVLink or xGMI alone, if it joins all GPUs, and all links.
const Expected kRecorded[] = {
    {"amd-mi100-2hive-8gpu", 96, 96,
     "3 xGMI links and 1 PCIe link into gpu0, 96.0 GB/s, as for each of 8 GPUs"},
    {"amd-mi250-16gcd-8x200g", 231.4, 257.1, "6 xGMI links into gpu0 and gpu1, 216.0 GB/s"},
    {"amd-mi250-8gcd-4x200g", 210, 228, "5 xGMI links into gpu0 and gpu1, 180.0 GB/s"},
    {"amd-mi300x-8gpu-8x400g", 336, 384, "7 xGMI links into gpu0, 336.0 GB/s, as for each of 8 GPUs"},
    {"amd-rome-8gpu-4x200g", 84, 84, "2 PCIe links into gpu0-gpu3, 48.0 GB/s"},
    {"lab-2xa100pcie-nvbridge", 240, 264, "12 NVLinks into gpu0, 240.0 GB/s, as for each of 2 GPUs"},
    {"lab-8xrtx4000ada-pcie", 24, 24, "1 PCIe link into gpu0, 24.0 GB/s, as for each of 8 GPUs"},
    {"lab-hgx-h800-8gpu-8x400g", 164.8, 212.8, "8 NVLinks into gpu0, 164.8 GB/s, as for each of 8 GPUs"},
    {"nvidia-dgx1v-8xv100", 120, 132, "6 NVLinks into gpu0, 120.0 GB/s, as for each of 8 GPUs"},
    {"oci-bm-gpu-h100-8gpu", 370.8, 376.8, "18 NVLinks into gpu0, 370.8 GB/s, as for each of 8 GPUs"},
    {"oci-bm-gpu4-8xa100-40g", 240, 264, "12 NVLinks into gpu0, 240.0 GB/s, as for each of 8 GPUs"},
    {"oneflow-8xrtx3090-pcie-1ib", 17.5, 17.5, "1 socket link from numa1 to numa0, 10.0 GB/s"},
    {"simai-hgx-a100-8gpu-4cx6", 240, 264, "12 NVLinks into gpu0, 240.0 GB/s, as for each of 8 GPUs"},
    {"vastai-hgx-b200-8gpu", 721.8, 769.8, "18 NVLinks into gpu0, 721.8 GB/s, as for each of 8 GPUs"},
    {"vastai-hgx-h200-8gpu", 370.8, 418.8, "18 NVLinks into gpu0, 370.8 GB/s, as for each of 8 GPUs"},
};

TopologyGraph graph_of(std::span<const Machine> hosts, const GraphOptions& options = {}) {
  auto graph = TopologyGraph::build(hosts, options);
  REQUIRE(graph.status().message() == "");
  return graph.take();
}

TopologyGraph graph_of(const Machine& machine) { return graph_of(std::span(&machine, 1)); }

TopologyGraph fabric_of(const TopologyGraph& graph) { return fabric_or_all(graph, graph.gpus()); }

BandwidthBound bound_of_all(const TopologyGraph& graph,
                            CollectiveKind collective = CollectiveKind::AllGather) {
  const auto bound = bandwidth_bound(graph, graph.gpus(), collective);
  REQUIRE(bound.status().message() == "");
  return bound.value();
}

/// To the tenth of a GB/s that reports show.
std::string shown(Rational kBps) { return fmt::format("{:.1f}", kBps.approximate() / 1e6); }
std::string shown(double gigabytes) { return fmt::format("{:.1f}", gigabytes); }

void check(const TopologyGraph& graph, const Expected& expected) {
  CAPTURE(expected.machine);
  const TopologyGraph fabric = fabric_of(graph);
  const BandwidthBound bound = bound_of_all(fabric);
  CHECK(shown(bound.bus) == shown(expected.fabric));
  CHECK(bound.limit == expected.limit);
  CHECK(bound.kind == BoundKind::Exact);
  CHECK(shown(bound_of_all(graph).bus) == shown(expected.all));
  for (const CollectiveKind collective : {CollectiveKind::ReduceScatter, CollectiveKind::AllReduce})
    CHECK(bound_of_all(fabric, collective).bus == bound.bus);
}

/// Nothing, with a warning, if there are no recorded machines.
std::optional<std::filesystem::path> recorded_machines(std::string_view skipped) {
  const char* const data = std::getenv("RONDO_TEST_DATA");
  if (data != nullptr) return std::filesystem::path(data) / "topologies";
  WARN("skipped: " << skipped << ", since RONDO_TEST_DATA does not name a folder with topologies");
  return std::nullopt;
}

Machine machine_of(const std::filesystem::path& folder, const std::string& name) {
  auto machine = machine_from_nccl_xml_file((folder / (name + ".xml")).string());
  REQUIRE(machine.status().message() == "");
  return machine.take();
}

std::vector<Machine> equal_hosts(size_t count, const HgxHost& host) { return {count, hgx(host)}; }

// 18 NVLinks a GPU; four NICs that are faster than the PCIe of a GPU.
constexpr HgxHost kHostOfH100s = {90, 18, 1, 200'000, 32};
// 12 NVLinks a GPU; eight NICs, limited by their PCIe.
constexpr HgxHost kHostOfA100s = {80, 12, 2, 200'000, 16};

/// The lowest of a few, since other programs disturb single ones.
double cpu_ms(const TopologyGraph& graph, CollectiveKind collective) {
  double lowest = 1e9;
  for (int run = 0; run != 5; ++run) {
    const std::clock_t start = std::clock();
    (void)bound_of_all(graph, collective);
    lowest = std::min(lowest, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return lowest;
}

constexpr CollectiveKind kBounded[] = {
    CollectiveKind::AllReduce, CollectiveKind::Broadcast,     CollectiveKind::Reduce,
    CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::Gather,
    CollectiveKind::Scatter,   CollectiveKind::AllToAll,      CollectiveKind::Scan,
    CollectiveKind::Exscan,
};

}  // namespace

TEST_CASE("recorded machines have the bounds that arithmetic on their links gives") {
  const auto folder = recorded_machines("the bounds of 15 recorded machines");
  if (!folder) return;
  for (const Expected& row : kRecorded) check(graph_of(machine_of(*folder, row.machine)), row);
}

TEST_CASE("without peer-to-peer below switches their uplinks are the limit") {
  const auto folder = recorded_machines("a recorded machine without peer-to-peer");
  if (!folder) return;
  const Machine machine = machine_of(*folder, "oneflow-8xrtx3090-pcie-1ib");
  const TopologyGraph graph = graph_of(std::span(&machine, 1), {.p2p_below_switches = false});
  const BandwidthBound bound = bound_of_all(graph);
  CHECK(shown(bound.bus) == "5.0");
  CHECK(shown(bound.ceiling) == "17.5");
  CHECK(bound.kind == BoundKind::EqualShares);
  CHECK(bound.limit ==
        "1 PCIe link into gpu0, 5.0 GB/s, as for each of 8 GPUs: a share of 1 PCIe link from numa0 to switch "
        "0000:0c:00.0 down, 20.0 GB/s");
}

TEST_CASE("NVLinks that a file has from GPUs to themselves join pairs when they are repaired") {
  const auto folder = recorded_machines("a recorded machine with links to itself");
  if (!folder) return;
  Machine machine = machine_of(*folder, "azure-ncv4-4xa100pcie");
  const TopologyGraph as_it_is = graph_of(machine);
  CHECK(shown(bound_of_all(as_it_is).bus) == "12.0");
  for (int dev = 0; dev != 4; ++dev)
    for (FabricLinks& links : find_gpu(machine, dev)->links)
      links.target_bus_id = bus_id_of(machine, dev ^ 1);
  check(graph_of(machine), {"azure-ncv4", 36, 36, "2 PCIe links into gpu0 and gpu1, 24.0 GB/s"});
}

TEST_CASE("a broken NVLink lowers the bound to what its GPUs have left") {
  const auto folder = recorded_machines("recorded machines with broken links");
  if (!folder) return;
  for (const int peer : {3, 1, 4}) {
    CAPTURE(peer);
    Machine machine = machine_of(*folder, "nvidia-dgx1v-8xv100");
    break_link(machine, 0, peer);
    const BandwidthBound bound = bound_of_all(fabric_of(graph_of(machine)));
    CHECK(shown(bound.bus) == "100.0");
    CHECK(bound.limit == "5 NVLinks into gpu0, 100.0 GB/s, as for each of 2 GPUs");
  }
  Machine machine = machine_of(*folder, "vastai-hgx-h200-8gpu");
  --find_gpu(machine, 3)->links[0].count;
  const BandwidthBound bound = bound_of_all(fabric_of(graph_of(machine)));
  CHECK(shown(bound.bus) == "350.2");
  CHECK(bound.limit == "17 NVLinks into gpu3, 350.2 GB/s");
}

TEST_CASE("an all_reduce of GPUs with unequal links may exceed the bound for equal blocks, up to a ceiling") {
  const auto folder = recorded_machines("a recorded machine with a broken link");
  if (!folder) return;
  Machine machine = machine_of(*folder, "nvidia-dgx1v-8xv100");
  break_link(machine, 0, 3);
  const BandwidthBound bound = bound_of_all(fabric_of(graph_of(machine)), CollectiveKind::AllReduce);
  CHECK(bound.kind == BoundKind::EqualShares);
  CHECK(shown(bound.bus) == "100.0");
  CHECK(shown(bound.ceiling) == "115.0");  // the GPUs' average
}

TEST_CASE("hosts are limited by their NICs, more hosts more so") {
  const std::string h100s = "4 network links into host0, 100.0 GB/s, as for each of {} hosts";
  const std::string a100s = "8 PCIe links of NICs into host0, 192.0 GB/s, as for each of {} hosts";
  const std::string gpu = "12 NVLinks and 1 PCIe link into host0/gpu0, 264.0 GB/s, as for each of {} GPUs";
  const struct {
    HgxHost host;
    size_t hosts;
    double bus;
    std::string limit;
  } rows[] = {
      {kHostOfH100s, 2, 187.5, fmt::format(fmt::runtime(h100s), 2)},
      {kHostOfH100s, 4, 129.2, fmt::format(fmt::runtime(h100s), 4)},
      {kHostOfH100s, 8, 112.5, fmt::format(fmt::runtime(h100s), 8)},
      {kHostOfA100s, 2, 264.0, fmt::format(fmt::runtime(gpu), 16)},
      {kHostOfA100s, 4, 248.0, fmt::format(fmt::runtime(a100s), 4)},
      {kHostOfA100s, 8, 216.0, fmt::format(fmt::runtime(a100s), 8)},
  };
  for (const auto& row : rows) {
    const TopologyGraph graph = graph_of(equal_hosts(row.hosts, row.host));
    check(graph, {fmt::format("{} hosts", row.hosts), row.bus, row.bus, row.limit});
    CHECK(bound_of_all(graph, CollectiveKind::AllReduce).kind == BoundKind::Exact);
  }
  const TopologyGraph graph = graph_of(equal_hosts(4, kHostOfA100s));
  CHECK(bound_of_all(graph, CollectiveKind::Broadcast).limit ==
        "8 PCIe links of NICs out of host0, 192.0 GB/s");
  CHECK(bound_of_all(graph, CollectiveKind::ReduceScatter).limit ==
        "8 PCIe links of NICs out of host0, 192.0 GB/s, as for each of 4 hosts");
}

// 1, 5 and 500 ms are meant; a machine whose CPUs are shared may take several times as long.
TEST_CASE("a bound of 8 GPUs takes some 1 ms, of 16 some 5 ms, of 64 some 500 ms") {
  if (kSanitized) {
    WARN("skipped: times of programs that a sanitizer slows down");
    return;
  }
  for (const size_t hosts : {1, 2, 8}) {
    const TopologyGraph graph = graph_of(equal_hosts(hosts, kHostOfA100s));
    for (const CollectiveKind collective : kBounded) {
      CAPTURE(hosts, collective_name(collective));
      CHECK(cpu_ms(graph, collective) < 4 * (hosts == 1 ? 1 : hosts == 2 ? 5 : 500));
    }
  }
}

TEST_CASE("every recorded machine has bounds for every collective, in little time") {
  const auto folder = recorded_machines("all recorded machines");
  if (!folder) return;
  int machines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const auto machine = machine_from_nccl_xml_file(entry.path().string());
    if (entry.path().extension() != ".xml" || !machine.ok()) continue;
    const TopologyGraph graph = graph_of(machine.value());
    if (graph.gpus().size() < 2) continue;
    ++machines;
    for (const CollectiveKind collective : kBounded) {
      CAPTURE(entry.path().filename().string(), collective_name(collective));
      const BandwidthBound bound = bound_of_all(fabric_of(graph), collective);
      CHECK(bound.bus > 0);
      CHECK(bound.bus <= bound_of_all(graph, collective).bus);
      CHECK(bound.bus <= bound.ceiling);
      if (!kSanitized) CHECK(cpu_ms(graph, collective) < 20);
    }
  }
  CHECK(machines >= 25);
}
