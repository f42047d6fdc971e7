// SPDX-License-Identifier: Apache-2.0
// Any text at all as a topology file: it is refused with a sentence, or what is read can be written and read
// again, and has a graph that is sound.
#include "formats/nccl_xml.h"
#include "fuzz.h"
#include "graph/missing_parts.h"
#include "graph/topology_graph.h"
#include "machine_content.h"

using namespace rondo;
using namespace rondo::fuzz;

namespace {

void check(const TopologyGraph& graph) {
  const auto nodes = static_cast<int>(graph.nodes().size());
  for (const TopologyLink& link : graph.links()) {
    require(link.from >= 0 && link.from < nodes && link.to >= 0 && link.to < nodes, "links join nodes");
    require(link.from != link.to, "no link joins a node to itself");
    require(link.kBps > 0, "links have a bandwidth");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto machine = machine_from_nccl_xml({reinterpret_cast<const char*>(data), size}, kSource);
  if (!machine.ok()) {
    require_named(machine.status());
    return 0;
  }
  for (const std::string& sentence : machine.value().repairs)
    require(sentence.starts_with(kSource), "a repair begins with the name of the input");
  missing_parts(machine.value());

  const std::string text = nccl_xml(machine.value());
  const auto again = machine_from_nccl_xml(text, kSource);
  require(again.ok(), "what is written is read");
  require(test::have_same_content(machine.value(), again.value()), "what is written and read is the same");

  const auto graph = TopologyGraph::build(machine.value());
  const auto graph_again = TopologyGraph::build(again.value());
  require(graph.ok() == graph_again.ok(), "what is read again has a graph if it had one");
  if (!graph.ok()) {
    require_named(graph.status());
    return 0;
  }
  check(graph.value());
  require(graph.value().nodes().size() == graph_again.value().nodes().size() &&
              graph.value().links().size() == graph_again.value().links().size(),
          "what is read again has the same graph");
  return 0;
}
