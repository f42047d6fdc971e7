// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "catch.h"
#include "formats/nvidia_smi.h"
#include "graph/paths.h"

namespace {

using namespace rondo;

TopologyGraph graph_of(const Machine& machine) {
  auto graph = TopologyGraph::build(machine);
  INFO(graph.status().message());
  REQUIRE(graph.ok());
  return graph.take();
}

Machine read(const std::string& text) {
  auto machine = machine_from_nvidia_smi(text, "smi.txt");
  INFO(machine.status().message());
  REQUIRE(machine.ok());
  return machine.take();
}

/// The classes of paths from GPU 0 to all GPUs, then NICs.
std::string classes(const TopologyGraph& graph, size_t gpu = 0) {
  const Paths paths(graph);
  std::string result;
  for (const auto& nodes : {graph.gpus(), graph.nics()})
    for (const int node : nodes)
      result += std::string(path_class_name(paths.between(graph.gpus()[gpu], node).cls)) + " ";
  return result;
}

constexpr const char* kFour = R"(  GPU0  GPU1  GPU2  GPU3  NIC0  CPU Affinity  NUMA Affinity
GPU0    X   PIX  PXB  SYS  PHB  0-7  0
GPU1  PIX    X   PXB  SYS  NODE  0-7  0
GPU2  PXB  PXB    X   SYS  NODE  0-7  0
GPU3  SYS  SYS  SYS    X   SYS  8-15  1
NIC0  PHB  NODE  NODE  SYS   X

Legend:

   X    = Self

NIC Legend:

  NIC0: mlx5_0
)";

}  // namespace

TEST_CASE("a table without NVLinks becomes switches and sockets with the paths that it names") {
  const Machine machine = read(kFour);
  REQUIRE(machine.numa.size() == 2);
  CHECK(machine.numa[0].affinity == "000000ff");
  CHECK(machine.numa[1].affinity == "0000ff00");
  const TopologyGraph graph = graph_of(machine);
  CHECK(classes(graph, 0) == "LOC PIX PXB SYS PHB ");
  CHECK(classes(graph, 2) == "PXB PXB LOC SYS PHB ");
  CHECK(classes(graph, 3) == "SYS SYS SYS LOC SYS ");
  CHECK(graph.node(graph.nics()[0]).name == "nic mlx5_0");
}

TEST_CASE("CPUs become the mask that the kernel prints; what is not a list of CPUs is left out") {
  const auto mask = [](const std::string& cpus) {
    return read("GPU0 CPU Affinity\nGPU0 X " + cpus + " 0\n").numa.front().affinity;
  };
  CHECK(mask("0-3,32") == "00000001,0000000f");
  CHECK(mask("64") == "00000001,00000000,00000000");
  for (const char* bad : {"3-0", "0-", "-1", "0,,1", "0-3x", "0-65536", "99999999999", "N/A"}) {
    CAPTURE(bad);
    CHECK(mask(bad).empty());
  }
}

TEST_CASE("NVLinks are between two GPUs, or to switches if no GPU has that many") {
  const TopologyGraph pair =
      graph_of(read("GPU0 GPU1 CPU Affinity\n\033[4mGPU0\033[0m X NV2 0-3 N/A\nGPU1 NV2 X 0-3 N/A\n"));
  CHECK(classes(pair) == "LOC NVL ");
  CHECK(Paths(pair).between(pair.gpus()[0], pair.gpus()[1]).kBps == 36'000'000);
  std::string table = "GPU0 GPU1 GPU2 GPU3 CPU Affinity\n";
  for (int a = 0; a != 4; ++a) {
    table += "GPU" + std::to_string(a);
    for (int b = 0; b != 4; ++b) table += a == b ? " X" : " NV18";
    table += " 0-3 0\n";
  }
  const TopologyGraph switched = graph_of(read(table));
  CHECK(Paths(switched).between(switched.gpus()[0], switched.gpus()[3]).kBps == 18 * 20'600'000);
  REQUIRE(switched.repairs().size() >= 1);
  CHECK(switched.repairs()[0] ==
        "smi.txt: the table does not name the GPUs' generation: 18 NVLinks each to NVSwitches are taken for "
        "those "
        "of compute capability 9.0");
}

TEST_CASE("what is not such a table is refused with line and what was expected") {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "smi.txt: expected the table of nvidia-smi topo -m, which begins with GPU0"},
           {"GPU0 GPU1 CPU\n", "smi.txt: expected 2 rows, one for each column; there are 0"},
           {"GPU0 GPU1 CPU\nGPU0 X\n", "smi.txt:2: expected 2 entries; found 1"},
           {"GPU0 GPU1 CPU\nGPU1 X NV1\n",
            "smi.txt:2: expected the row of GPU0, as in the heading; found 'GPU1'"},
           {"GPU0 GPU1 CPU\nGPU0 X NV0\n",
            "smi.txt:2: 'NV0' under GPU1: expected NV1 to NV64, between two GPUs"},
           {"GPU0 GPU1 CPU\nGPU0 X NV99999999999\n",
            "smi.txt:2: 'NV99999999999' under GPU1: expected NV1 to NV64, between two GPUs"},
           {"GPU0 GPU1 CPU\nGPU0 X X\n",
            "smi.txt:2: 'X' under GPU1: expected NV#, PIX, PXB, PHB, NODE or SYS"},
           {"GPU0 GPU1 CPU\nGPU0 SYS SYS\n", "smi.txt:2: 'SYS' under GPU0: expected X"},
           {"GPU0 GPU0 CPU\n", "smi.txt:1: the column GPU0 appears twice"},
           {"GPU0 CPU Affinity NUMA Affinity\nGPU0 X 0-3 65536\n",
            "smi.txt:2: NUMA node 65536: expected at most 65535"},
           {"GPU0 CPU Affinity NUMA Affinity\nGPU0 X 0-3 99999999999\n",
            "smi.txt:2: NUMA node 99999999999: expected at most 65535"},
           {"GPU0 NIC0 GPU1 CPU\n", "smi.txt:1: expected the columns of GPUs before those of NICs"},
           {"GPU0 NIC0 CPU\nGPU0 X NV1\n",
            "smi.txt:2: 'NV1' under NIC0: expected NV1 to NV64, between two GPUs"},
           {"GPU0 GPU1 CPU\nGPU0 X NV1\nGPU1 NV2 X\n",
            "smi.txt:3: GPU0 and GPU1 are joined in one way at line 2 and in another here"},
           {std::string(2 << 20, 'x'), "smi.txt: 2097152 bytes: expected a table of at most 1048576"}}) {
    const auto machine = machine_from_nvidia_smi(text, "smi.txt");
    REQUIRE_FALSE(machine.ok());
    CHECK(machine.status().message() == message);
  }
}

TEST_CASE("recorded tables have paths of the classes that they name") {
  const char* data = std::getenv("RONDO_TEST_DATA");
  if (data == nullptr) {
    std::cout << "skipped: the 3 recorded tables, since RONDO_TEST_DATA does not name a folder with them\n";
    return;
  }
  for (const auto& [file, expected] : std::vector<std::pair<std::string, std::string>>{
           {"2gpu-nv2.txt", "LOC NVL "},
           {"a100-8gpu.txt", "LOC NVL NVL NVL NVL NVL NVL NVL "},
           // GPU 0 is one NVLink from GPU 1, which shares a switch with NIC 2.
           {"h200-8gpu-4nic-host.txt", "LOC NVL NVL NVL NVL NVL NVL NVL PXB PXN PXN PXN "}}) {
    std::ifstream in(std::string(data) + "/topologies/nvidia-smi/" + file);
    std::stringstream text;
    text << in.rdbuf();
    CHECK(classes(graph_of(read(text.str()))) == expected);
  }
}

TEST_CASE("bytes that a terminal would obey do not get into messages") {
  const auto machine = machine_from_nvidia_smi("GPU0 GPU1 CPU\nGPU0 X \x01\x7f\x1bN\n", "smi.txt");
  CHECK(machine.status().message() ==
        "smi.txt:2: '???N' under GPU1: expected NV#, PIX, PXB, PHB, NODE or SYS");
}
