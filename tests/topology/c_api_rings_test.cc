// SPDX-License-Identifier: Apache-2.0
// Rings, trees over hosts and NCCL's graphs as a program uses them through rondo/topology.h.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "c_api_checks.h"
#include "folder.h"

using namespace rondo::test;

TEST_CASE("rings have an order of nodes each, and their limit") {
  Owned dgx;
  named(dgx, "dgx-1v");
  rondo_topology_rings_t rings = {};
  rings.size = sizeof(rings);
  REQUIRE(rondo_topology_rings(dgx.topology, 0, &rings) == RONDO_OK);
  CHECK(rings.bandwidth == Approx(120));
  CHECK(rings.ceiling == Approx(120));
  CHECK(rings.optimal == 1);
  double sum = 0;
  for (int i = 0; i != rings.channels; ++i) {
    rondo_topology_ring_t ring = {};
    ring.size = sizeof(ring);
    REQUIRE(rondo_topology_ring(dgx.topology, 0, i, &ring) == RONDO_OK);
    CHECK(ring.length == 8);
    std::set<int> nodes(ring.nodes, ring.nodes + ring.length);
    CHECK(nodes.size() == 8);
    for (const int index : nodes) CHECK(node(dgx.topology, index).kind == std::string("GPU"));
    sum += ring.bandwidth;
  }
  CHECK(sum == Approx(rings.bandwidth));
  rondo_topology_ring_t ring = {};
  ring.size = sizeof(ring);
  refused(rondo_topology_ring(dgx.topology, 0, rings.channels, &ring), RONDO_INVALID_ARGUMENT, "index is");
  refused(rondo_topology_rings(dgx.topology, 0, nullptr), RONDO_INVALID_ARGUMENT, "rings");
}

namespace {

/// By channel, and by the nodes of a hop: what its links carry, each after the one before.
using HopsByEnds = std::map<int, std::map<std::pair<int, int>, std::vector<rondo_topology_ring_hop_t>>>;

HopsByEnds ring_hops(rondo_topology_t topology, int all_links) {
  HopsByEnds hops;
  rondo_topology_ring_hop_t hop = {};
  hop.size = sizeof(hop);
  for (int i = 0; rondo_topology_ring_hop(topology, all_links, i, &hop) == RONDO_OK && hop.channel >= 0; ++i)
    hops[hop.channel][{hop.from, hop.to}].push_back(hop);
  CHECK(hop.channel == -1);
  CHECK(hop.link == -1);
  CHECK(hop.size == sizeof(hop));
  return hops;
}

rondo_topology_link_t link_of(rondo_topology_t topology, int index) {
  rondo_topology_link_t link = {};
  link.size = sizeof(link);
  REQUIRE(rondo_topology_link(topology, index, &link) == RONDO_OK);
  return link;
}

/// What leaves each node less what enters it.
std::map<int, double> balances(rondo_topology_t topology,
                               const std::vector<rondo_topology_ring_hop_t>& hops) {
  std::map<int, double> sums;
  for (const rondo_topology_ring_hop_t& hop : hops) {
    const rondo_topology_link_t link = link_of(topology, hop.link);
    sums[link.from] += hop.bandwidth;
    sums[link.to] -= hop.bandwidth;
  }
  return sums;
}

}  // namespace

TEST_CASE("the hops of rings lead from each node to the next, within the links and at the rings' bandwidth") {
  for (const char* name : {"dgx-1v", "hgx-h100", "mi250", "pcie-8gpu"})
    for (const auto& [hosts, all_links] : std::vector<std::pair<int, int>>{{1, 0}, {1, 1}, {2, 0}}) {
      CAPTURE(name, hosts, all_links);
      rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
      config.hosts = hosts;
      Owned box;
      named(box, name, &config);
      rondo_topology_rings_t rings = {};
      rings.size = sizeof(rings);
      REQUIRE(rondo_topology_rings(box.topology, all_links, &rings) == RONDO_OK);
      HopsByEnds hops = ring_hops(box.topology, all_links);
      CHECK(static_cast<int>(hops.size()) == rings.channels);
      std::map<int, double> loads;  // by link
      for (int channel = 0; channel != rings.channels; ++channel) {
        rondo_topology_ring_t ring = {};
        ring.size = sizeof(ring);
        REQUIRE(rondo_topology_ring(box.topology, all_links, channel, &ring) == RONDO_OK);
        CHECK(static_cast<int>(hops[channel].size()) == ring.length);
        for (int i = 0; i != ring.length; ++i) {
          const int from = ring.nodes[i], to = ring.nodes[(i + 1) % ring.length];
          const auto& links = hops[channel][{from, to}];
          for (const auto& [at, sum] : balances(box.topology, links))
            CHECK(sum == Approx(at == from ? ring.bandwidth : at == to ? -ring.bandwidth : 0).margin(1e-9));
          for (const rondo_topology_ring_hop_t& hop : links) loads[hop.link] += hop.bandwidth;
          CHECK(!links.empty());
        }
      }
      for (const auto& [link, load] : loads)
        CHECK(load <= link_of(box.topology, link).bandwidth * (1 + 1e-9));
    }
  Owned box;
  named(box, "dgx-1v");
  rondo_topology_ring_hop_t hop = {};
  refused(rondo_topology_ring_hop(box.topology, 0, 0, &hop), RONDO_INVALID_ARGUMENT, "hop->size is 0");
  refused(rondo_topology_ring_hop(box.topology, 0, 0, nullptr), RONDO_INVALID_ARGUMENT, "hop is NULL");
  refused(rondo_topology_ring_hop(nullptr, 0, 0, &hop), RONDO_INVALID_ARGUMENT, "topology is NULL");
}

TEST_CASE("rings across hosts name the NICs between them") {
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  config.hosts = 2;
  Owned hosts;
  named(hosts, "hgx-h100", &config);
  rondo_topology_ring_t ring = {};
  ring.size = sizeof(ring);
  REQUIRE(rondo_topology_ring(hosts.topology, 0, 0, &ring) == RONDO_OK);
  REQUIRE(ring.length == 20);
  int nics = 0;
  for (int i = 0; i != ring.length; ++i)
    if (node(hosts.topology, ring.nodes[i]).kind == std::string("NIC")) ++nics;
  CHECK(nics == 4);
  CHECK(node(hosts.topology, ring.nodes[8]).host == 0);
  CHECK(node(hosts.topology, ring.nodes[9]).host == 1);
}

TEST_CASE("hosts have places in two trees, in one of which each is a leaf") {
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  for (config.hosts = 1; config.hosts <= 64; config.hosts += config.hosts < 9 ? 1 : 11) {
    CAPTURE(config.hosts);
    Owned hosts;
    named(hosts, "dgx-1v", &config);
    std::set<int> parents[2];
    rondo_topology_host_place_t place = {};
    refused(rondo_topology_host_place(hosts.topology, 0, &place), RONDO_INVALID_ARGUMENT, "place->size is 0");
    place.size = sizeof(place);
    for (int host = 0; host != config.hosts; ++host) {
      REQUIRE(rondo_topology_host_place(hosts.topology, host, &place) == RONDO_OK);
      for (int tree = 0; tree != 2; ++tree)
        if (place.parents[tree] >= 0) parents[tree].insert(place.parents[tree]);
    }
    for (const int host : parents[0]) CHECK(parents[1].count(host) == 0);
    refused(rondo_topology_host_place(hosts.topology, config.hosts, &place), RONDO_INVALID_ARGUMENT,
            "host is ");
  }
}

TEST_CASE("NCCL's graphs are written, read and evaluated") {
  const Folder folder;
  const std::string path = folder / "graph.xml";
  Owned dgx;
  named(dgx, "dgx-1v");
  REQUIRE(rondo_topology_save_graph(dgx.topology, 0, path.c_str()) == RONDO_OK);
  int first = -1, count = 0;
  REQUIRE(rondo_topology_load_graphs(dgx.topology, path.c_str(), 0, &first, &count) == RONDO_OK);
  CHECK(first == 0);
  REQUIRE(count == 1);
  rondo_topology_graph_t graph = {};
  graph.size = sizeof(graph);
  REQUIRE(rondo_topology_graph(dgx.topology, 0, &graph) == RONDO_OK);
  CHECK(graph.pattern == std::string("ring"));
  CHECK(graph.channels == 6);
  CHECK(graph.stated == Approx(120));
  CHECK(graph.bandwidth == Approx(120));
  CHECK_THAT(graph.limit, Catch::Contains("NVLink from gpu0 to gpu1, 20.0 GB/s, and 31 more links"));
  REQUIRE(rondo_topology_load_graphs(dgx.topology, path.c_str(), 0, &first, &count) == RONDO_OK);
  CHECK(first == 1);

  Owned pcie;
  named(pcie, "dgx-2");
  refused(rondo_topology_load_graphs(pcie.topology, path.c_str(), 0, &first, &count), RONDO_INVALID_ARGUMENT,
          "/graph.xml:2: channel 0: it has 8 GPUs: expected all 16");
  refused(rondo_topology_load_graphs(dgx.topology, "/nowhere.xml", 0, &first, &count), RONDO_SYSTEM_ERROR,
          "/nowhere.xml");
  refused(rondo_topology_save_graph(dgx.topology, 0, "/nowhere/graph.xml"), RONDO_SYSTEM_ERROR,
          "/nowhere/graph.xml");
}
