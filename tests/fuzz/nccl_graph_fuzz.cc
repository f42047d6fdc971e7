// SPDX-License-Identifier: Apache-2.0
// Any text at all as a file of NCCL's graphs: it is refused with a sentence, or what is read can be written
// and read again, and its orders can be evaluated on a machine or are refused with a sentence.
#include "formats/nccl_graph.h"
#include "fuzz.h"
#include "graph/known_machines.h"
#include "graph_content.h"

using namespace rondo;
using namespace rondo::fuzz;

namespace {

TopologyGraph machine(size_t hosts) {
  auto graph = TopologyGraph::build(std::vector<Machine>(hosts, known_machine("hgx-h100").take()));
  require(graph.ok(), "a known machine has a graph");
  return graph.take();
}

void require_orders(const NcclGraph& graph, const TopologyGraph& topology) {
  const auto stars = stars_of(graph, kSource, topology, topology.gpus());
  if (stars.ok() && !stars.value().empty())
    require(star_plan(topology, topology.gpus(), stars.value()).ok() == (topology.hosts() == 1),
            "stars have a bandwidth on one host");
  require(stars.ok() || stars.status().message().starts_with(kSource),
          "an error begins with the name of the input");
  const auto orders = orders_of(graph, kSource, topology, topology.gpus());
  if (!orders.ok()) {
    require(orders.status().message().starts_with(kSource), "an error begins with the name of the input");
    return;
  }
  const auto load = ring_load(topology, topology.gpus(), orders.value().channels, orders.value().use);
  require(load.ok() || load.status().code() == Code::InvalidArgument, "orders have a load or are refused");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graphs = nccl_graphs_from_xml({reinterpret_cast<const char*>(data), size}, kSource);
  if (!graphs.ok()) {
    require_named(graphs.status());
    return 0;
  }
  const auto again = nccl_graphs_from_xml(nccl_graph_xml(graphs.value()), kSource);
  require(again.ok(), "what is written is read");
  require(test::have_same_content(graphs.value(), again.value()), "what is written and read is the same");

  static const TopologyGraph one = machine(1), two = machine(2);
  for (const NcclGraph& graph : graphs.value().graphs) {
    require_orders(graph, one);
    require_orders(graph, two);
  }
  return 0;
}
