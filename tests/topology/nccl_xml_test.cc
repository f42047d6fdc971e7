// SPDX-License-Identifier: Apache-2.0
// NCCL's topology files: what is read from them, written, refused and repaired.
#include <filesystem>
#include <set>

#include "catch.h"
#include "formats/nccl_xml.h"
#include "graph/topology_graph.h"

using namespace rondo;

namespace {

/// Recorded topologies of the folder that RONDO_TEST_DATA names; without one, none, and a warning.
std::vector<std::string> recorded_topologies() {
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

}  // namespace

TEST_CASE("every recorded topology is read, and has a graph") {
  for (const std::string& path : recorded_topologies()) {
    CAPTURE(path);
    const auto machine = machine_from_nccl_xml_file(path);
    REQUIRE(machine.status().message() == "");
    const auto graph = TopologyGraph::build(machine.value());
    CHECK(graph.status().message() == "");
    const bool is_template = path.ends_with(".template.xml");
    if (graph.ok()) CHECK(graph.value().gpus().empty() == is_template);
  }
}
