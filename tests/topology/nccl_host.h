// SPDX-License-Identifier: Apache-2.0
// Descriptions of hosts in NCCL's XML: a small one to change, and the recorded ones.
#pragma once

#include <bit>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catch.h"
#include "formats/nccl_xml.h"
#include "graph/topology_graph.h"

namespace rondo::test {

// Two GPUs with NVLinks, and a network interface.
inline const std::string kHost = R"(<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1">
        <nvlink target="0000:02:00.0" count="12" tclass="0x030200"/>
      </gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1">
        <nvlink target="0000:01:00.0" count="12" tclass="0x030200"/>
      </gpu>
    </pci>
    <pci busid="0000:03:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
)";

/// kHost with one piece of its text replaced, everywhere.
inline std::string changed(const std::string& from, const std::string& to) {
  std::string text = kHost;
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

inline Machine read(const std::string& text) {
  auto machine = machine_from_nccl_xml(text, "host.xml");
  REQUIRE(machine.status().message() == "");
  return machine.take();
}

inline TopologyGraph graph_of(const Machine& machine) {
  auto graph = TopologyGraph::build(machine);
  REQUIRE(graph.status().message() == "");
  return graph.take();
}

/// Recorded topologies of the folder that RONDO_TEST_DATA names; without one, none, and a warning.
inline std::vector<std::string> recorded_topologies() {
  const char* data = std::getenv("RONDO_TEST_DATA");
  std::set<std::string> found;
  if (data == nullptr) {
    WARN("skipped: the recorded topologies, since RONDO_TEST_DATA does not name a folder with topologies/");
    return {};
  }
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "topologies")) {
    const std::string path = entry.path();
    if (path.ends_with(".xml") && !path.ends_with("-graph.xml")) found.insert(path);
  }
  CHECK(!found.empty());
  return {found.begin(), found.end()};
}

inline Machine recorded(const std::string& path) {
  auto machine = machine_from_nccl_xml_file(path);
  REQUIRE(machine.status().message() == "");
  return machine.take();
}

/// By name; nothing without recorded topologies.
inline std::optional<Machine> recorded_machine(const std::string& name) {
  for (const std::string& path : recorded_topologies())
    if (std::filesystem::path(path).stem() == name) return recorded(path);
  return std::nullopt;
}

/// Any two of the graph's GPUs and, if it has eight at most, any four.
inline std::vector<std::vector<int>> pairs_and_fours(const TopologyGraph& graph) {
  std::vector<std::vector<int>> sets;
  for (unsigned set = 0; set != 1U << graph.gpus().size(); ++set) {
    const int size = std::popcount(set);
    if (size != 2 && (size != 4 || graph.gpus().size() > 8)) continue;
    std::vector<int>& some = sets.emplace_back();
    for (size_t i = 0; i != graph.gpus().size(); ++i)
      if ((set >> i & 1) != 0) some.push_back(graph.gpus()[i]);
  }
  return sets;
}

}  // namespace rondo::test
