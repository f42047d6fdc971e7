// SPDX-License-Identifier: Apache-2.0
// NCCL's graphs: the recorded ones read, written and read again, what broken ones are refused with, and their
// orders on the machine that they were found for.
#include "formats/nccl_graph.h"

#include <chrono>

#include "catch.h"
#include "graph/known_machines.h"
#include "graph_content.h"
#include "limit/bound.h"
#include "nccl_host.h"
#include "search/equal_channels.h"
#include "search/find_rings.h"

using namespace rondo;
using namespace rondo::test;

namespace {

const std::string kGraphs = R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="20.6" speedinter="12" )"
                            R"(latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="0">
    <channel>
      <net dev="0"/>
      <gpu dev="0"/>
      <gpu dev="0x1"/>
      <net dev="0"/>
    </channel>
    <channel>
      <gpu dev="1"/>
      <gpu dev="0"/>
    </channel>
  </graph>
  <graph id="3" pattern="5" crossnic="0" nchannels="0" speedintra="0" speedinter="0" )"
                            R"(typeintra="LOC" typeinter="LOC" samechannels="0"/>
</graphs>
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGraphs;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

NcclGraphs graphs_of(const std::string& text) {
  auto graphs = nccl_graphs_from_xml(text, "graph.xml");
  REQUIRE(graphs.status().message() == "");
  return graphs.take();
}

void check_same(const NcclGraphs& a, const NcclGraphs& b) { CHECK(have_same_content(a, b)); }

/// With the topologies that they belong to.
std::vector<std::pair<std::string, std::string>> recorded_graphs() {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& topology : recorded_topologies())
    for (const char* kind : {".expected-graph.xml", ".override-graph.xml"})
      if (const std::string path = topology.substr(0, topology.size() - 4) + kind;
          std::filesystem::exists(path))
        found.emplace_back(path, topology);
  return found;
}

TopologyGraph fabric_of_file(const std::string& path) {
  auto machine = machine_from_nccl_xml_file(path);
  REQUIRE(machine.ok());
  const TopologyGraph graph = graph_of(machine.value());
  return fabric_or_all(graph, graph.gpus());
}

TopologyGraph known(std::string_view name, size_t hosts = 1) {
  auto graph = TopologyGraph::build(std::vector<Machine>(hosts, known_machine(name).take()));
  REQUIRE(graph.ok());
  return fabric_or_all(graph.value(), graph.value().gpus());
}

void check_heads(const NcclGraph& graph, const std::string& path, const TopologyGraph& machine) {
  const auto stars = stars_of(graph, path, machine, machine.gpus());
  REQUIRE(stars.status().message() == "");
  const auto theirs = star_plan(machine, machine.gpus(), stars.value());
  const auto ours = find_stars(machine, machine.gpus());
  REQUIRE(theirs.status().message() == "");
  CHECK(theirs.value().stars.size() == ours.value().stars.size());
  CHECK(theirs.value().bus_kBps == ours.value().bus_kBps);
}

std::string refusal_of_orders(const std::string& text, const TopologyGraph& machine) {
  const NcclGraphs graphs = graphs_of(text);
  return orders_of(graphs.graphs[0], graphs.source, machine, machine.gpus()).status().message();
}

}  // namespace

TEST_CASE("a graph is read with its channels, and numbers may be hexadecimal") {
  const NcclGraphs graphs = graphs_of(kGraphs);
  REQUIRE(graphs.graphs.size() == 2);
  const NcclGraph& ring = graphs.graphs[0];
  CHECK(ring.intra_kBps == 20'600'000);
  CHECK(ring.inter_kBps == 12'000'000);
  CHECK(ring.intra == PathClass::Nvl);
  CHECK(ring.inter == PathClass::Pix);
  CHECK(ring.channels[0].stops == std::vector<NcclStop>{{true, 0}, {false, 0}, {false, 1}, {true, 0}});
  CHECK(ring.extra == Attributes{{"latencyinter", "0"}});
  CHECK(graphs.graphs[1].pattern == kNcclNvls);
  CHECK(graphs.graphs[1].channels.empty());
}

TEST_CASE("what is written is read again, attributes that are not known included") {
  for (const std::string& text :
       {kGraphs, with("<channel>", "<channel more=\"&lt;&amp;&quot;\">"), with("\"1\">", "\"1\" x=\"y\">"),
        with("20.6", "0.000001"), with("20.6", "1000000")}) {
    const NcclGraphs graphs = graphs_of(text);
    check_same(graphs, graphs_of(nccl_graph_xml(graphs)));
  }
}

TEST_CASE("recorded graphs are read, and the same after they were written") {
  const auto found = recorded_graphs();
  for (const auto& [path, topology] : found) {
    CAPTURE(path);
    const auto graphs = nccl_graphs_from_xml_file(path);
    REQUIRE(graphs.status().message() == "");
    check_same(graphs.value(), graphs_of(nccl_graph_xml(graphs.value())));
  }
  CHECK((found.size() >= 5 || std::getenv("RONDO_TEST_DATA") == nullptr));
}

TEST_CASE("graphs that are broken are refused with file, line and what was expected") {
  struct {
    std::string text;
    int line;
    std::string message;
  } const kRows[] = {
      {"<system version=\"1\"/>", 1,
       "<system>: expected <graphs>, as NCCL_GRAPH_DUMP_FILE has it; <system> is the machine, as "
       "NCCL_TOPO_FILE has it"},
      {"<graphs version=\"1\"/>", 1, "<graphs> has no <graph>: expected at least one"},
      {with("version=\"1\"", "version=\"2\""), 1,
       "<graphs> has version=\"2\": expected a whole number from 1 to 1"},
      {with(" version=\"1\"", ""), 1, "<graphs> has no version: NCCL would refuse the file"},
      {with(" id=\"0\"", ""), 2, "<graph> has no id: NCCL would refuse the file"},
      {with("id=\"3\"", "id=\"0\""), 14, "a second <graph> with id=\"0\": expected one"},
      {with("pattern=\"4\"", "pattern=\"7\""), 2,
       "<graph> has pattern=\"7\": expected a whole number from 1 to 6"},
      {with("nchannels=\"2\"", "nchannels=\"3\""), 2,
       "<graph> has nchannels=\"3\", but 2 <channel>: expected as many"},
      {with("nchannels=\"2\"", "nchannels=\"65\""), 2,
       "<graph> has nchannels=\"65\": expected a whole number from 0 to 64"},
      {with("20.6", "-1"), 2,
       "<graph> has speedintra=\"-1\": expected GB/s from 0 to 1000000, with up to 6 decimals"},
      {with("20.6", "1e9"), 2,
       "<graph> has speedintra=\"1e9\": expected GB/s from 0 to 1000000, with up to 6 decimals"},
      {with("20.6", "20."), 2,
       "<graph> has speedintra=\"20.\": expected GB/s from 0 to 1000000, with up to 6 decimals"},
      {with("20.6", "200000000"), 2,
       "<graph> has speedintra=\"200000000\": expected GB/s from 0 to 1000000, with up to 6 decimals"},
      {with("NVL", "NVLINK"), 2,
       "<graph> has typeintra=\"NVLINK\": expected one of LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, "
       "NET, DIS"},
      {with("<gpu dev=\"0\"/>", "<gpu/>"), 5, "<gpu> has no dev: NCCL would refuse the file"},
      {with("<gpu dev=\"0\"/>", "<cpu/>"), 5, "<cpu> within <channel>: expected <gpu> or <net>"},
      {with("<gpu dev=\"0\"/>", "<gpu dev=\"-1\"/>"), 5,
       "<gpu> has dev=\"-1\": expected a whole number from 0 to 9223372036854775807"},
      {with("<channel>", "<channel/><channel>"), 3,
       "<channel> has neither <gpu> nor <net>: expected the order of GPUs"},
      {kGraphs.substr(0, kGraphs.find("</channel>")), 8,
       "not well-formed XML: Start-end tags mismatch; the text ends here: is it cut off?"},
  };
  for (const auto& [text, line, message] : kRows) {
    CAPTURE(text);
    const Status status = nccl_graphs_from_xml(text, "graph.xml").status();
    CHECK(status.code() == Code::InvalidArgument);
    CHECK(status.message() == fmt::format("graph.xml:{}: {}", line, message));
  }
}

TEST_CASE(
    "recorded rings and trees are orders of their machine, and NVLS graphs have the heads that are found") {
  for (const auto& [path, topology] : recorded_graphs()) {
    CAPTURE(path);
    const TopologyGraph machine = fabric_of_file(topology);
    const auto graphs = nccl_graphs_from_xml_file(path);
    REQUIRE(graphs.ok());
    for (const NcclGraph& graph : graphs.value().graphs) {
      CAPTURE(graph.id);
      const auto orders = orders_of(graph, path, machine, machine.gpus());
      if (graph.pattern > kNcclRing) {
        CHECK(orders.status().code() == Code::Unsupported);
        if (graph.pattern == kNcclNvls && !graph.channels.empty()) check_heads(graph, path, machine);
        continue;
      }
      REQUIRE(orders.status().message() == "");
      if (graph.channels.empty()) continue;
      const auto load = ring_load(machine, machine.gpus(), orders.value().channels, orders.value().use);
      REQUIRE(load.status().message() == "");
      CHECK(load.value().bus_kBps > 0);
    }
  }
}

TEST_CASE("orders that the machine does not have are refused with file and line") {
  const TopologyGraph one = known("hgx-h100"), two = known("hgx-h100", 2);
  CHECK(refusal_of_orders(with("dev=\"0x1\"", "dev=\"8\""), one) ==
        "graph.xml:3: <gpu dev=\"8\">: the machine has no such GPU");
  CHECK(refusal_of_orders(with("<gpu dev=\"0\"/>", "<net dev=\"0\"/>"), one) ==
        "graph.xml:3: <net> between <gpu>: expected it first or last");
  CHECK(refusal_of_orders(with("20.6", "0"), one) ==
        "graph.xml:3: speedintra is 0: expected more than 0 GB/s");
  CHECK(refusal_of_orders(kGraphs, two) ==
        "graph.xml:9: there is no <net>: expected one first and last, as the machine has 2 hosts");
  CHECK(refusal_of_orders(with("<net dev=\"0\"/>", "<net dev=\"99\"/>"), two) ==
        "graph.xml:3: <net dev=\"99\">: the machine has no such port");
  CHECK(refusal_of_orders(with("pattern=\"4\"", "pattern=\"6\""), one) ==
        "graph.xml:2: collnet graphs are not evaluated");
  const auto refusal_of_stars = [&](const std::string& text) {
    const NcclGraphs graphs = graphs_of(text);
    return stars_of(graphs.graphs[0], graphs.source, one, one.gpus()).status().message();
  };
  CHECK(refusal_of_stars(kGraphs) == "graph.xml:2: ring graphs have no heads");
  CHECK(refusal_of_stars(with("pattern=\"4\"", "pattern=\"5\"")) == "");
  NcclGraphs nvls = graphs_of(with("pattern=\"4\"", "pattern=\"5\""));
  nvls.graphs[0].channels[0].stops = {{false, 9}};
  CHECK(stars_of(nvls.graphs[0], nvls.source, one, one.gpus()).status().message() ==
        "graph.xml:3: <gpu dev=\"9\">: the machine has no such GPU");
  nvls.graphs[0].channels[0].stops = {{true, 0}};
  CHECK(stars_of(nvls.graphs[0], nvls.source, one, one.gpus()).status().message() ==
        "graph.xml:3: <channel> has no <gpu>: expected its head");
}

TEST_CASE("rings that were found are the same after they were written for NCCL, on one host and on several") {
  for (const KnownMachine& machine : known_machines()) {
    for (const size_t hosts : {1, 2, 3}) {
      CAPTURE(machine.name, hosts);
      const TopologyGraph topology = known(machine.name, hosts);
      // By steps: what a search has found when its time is over depends on how busy the machine is.
      const auto plan =
          find_rings(topology, topology.gpus(), {.max_steps = 30'000, .max_time = std::chrono::hours(1)});
      REQUIRE(plan.ok());
      const auto channels = equal_channels(plan.value().channels, 32, usual_channel_kBps(topology));
      const auto graphs = nccl_graphs_of(topology, topology.gpus(), channels);
      REQUIRE(graphs.status().message() == "");
      const NcclGraphs again = graphs_of(nccl_graph_xml(graphs.value()));
      const auto orders = orders_of(again.graphs[0], again.source, topology, topology.gpus());
      REQUIRE(orders.status().message() == "");
      CHECK(orders.value().use == OrderUse::Ring);
      CHECK(orders.value().channels == channels);
      CHECK((again.graphs[0].intra <= PathClass::Nvl || machine.name == "pcie-8gpu" || hosts > 1));
    }
  }
  const TopologyGraph topology = known("dgx-1v");
  CHECK_FALSE(nccl_graphs_of(topology, topology.gpus(), {}).ok());
}
