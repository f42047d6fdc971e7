// SPDX-License-Identifier: Apache-2.0
// rondo/topology.h as a program uses it.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "c_api_checks.h"
#include "folder.h"

using namespace rondo::test;

TEST_CASE("this host is a topology, of as many hosts as one likes") {
  Owned host, hosts;
  REQUIRE(rondo_topology_detect(&host.topology, nullptr) == RONDO_OK);
  int nodes = 0, nodes_of_two = 0;
  REQUIRE(rondo_topology_counts(host.topology, &nodes, nullptr, nullptr) == RONDO_OK);
  CHECK(node(host.topology, 0).kind == std::string("NUMA"));
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  config.hosts = 2;
  REQUIRE(rondo_topology_detect(&hosts.topology, &config) == RONDO_OK);
  REQUIRE(rondo_topology_counts(hosts.topology, &nodes_of_two, nullptr, nullptr) == RONDO_OK);
  CHECK(nodes_of_two > nodes);
  refused(rondo_topology_detect(nullptr, nullptr), RONDO_INVALID_ARGUMENT, "topology");
  config.hosts = 0;
  Owned none;
  refused(rondo_topology_detect(&none.topology, &config), RONDO_INVALID_ARGUMENT, "config->hosts is 0");
}

TEST_CASE("the host of a communicator's ranks is this host, once") {
  rondo_comm_t comm = nullptr;
  REQUIRE(rondo_init_all(&comm, 1, nullptr) == RONDO_OK);
  Owned host, all, none;
  REQUIRE(rondo_topology_detect(&host.topology, nullptr) == RONDO_OK);
  REQUIRE(rondo_topology_detect_all(&all.topology, comm, nullptr) == RONDO_OK);
  int nodes = 0, nodes_of_all = 0;
  REQUIRE(rondo_topology_counts(host.topology, &nodes, nullptr, nullptr) == RONDO_OK);
  REQUIRE(rondo_topology_counts(all.topology, &nodes_of_all, nullptr, nullptr) == RONDO_OK);
  CHECK(nodes_of_all == nodes);
  refused(rondo_topology_detect_all(nullptr, comm, nullptr), RONDO_INVALID_ARGUMENT, "topology is NULL");
  refused(rondo_topology_detect_all(&none.topology, nullptr, nullptr), RONDO_INVALID_ARGUMENT,
          "comm is NULL");
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  config.hosts = 2;
  refused(rondo_topology_detect_all(&none.topology, comm, &config), RONDO_INVALID_ARGUMENT,
          "config->hosts is 2: expected 1");
  REQUIRE(rondo_group_start() == RONDO_OK);
  refused(rondo_topology_detect_all(&none.topology, comm, nullptr), RONDO_INVALID_USAGE, "group");
  REQUIRE(rondo_group_cancel() == RONDO_OK);
  REQUIRE(rondo_destroy(comm) == RONDO_OK);
}

TEST_CASE("ranks that disagree about the topology of all hosts are told so") {
  rondo_comm_t comms[2];
  REQUIRE(rondo_init_all(comms, 2, nullptr) == RONDO_OK);
  const auto detected = [&](int rank, int p2p_below_switches) {
    rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
    config.p2p_below_switches = p2p_below_switches;
    rondo_topology_t topology = nullptr;
    const rondo_status_t status = rondo_topology_detect_all(&topology, comms[rank], &config);
    const std::string error = status == RONDO_OK ? "" : rondo_last_error(comms[rank]);
    rondo_topology_free(topology);
    return error;
  };
  const auto both = [&](const auto& other) {
    std::string first;
    std::thread rank([&] { first = detected(0, -1); });
    other();
    rank.join();
    return first;
  };
  CHECK(both([&] { CHECK(detected(1, -1).empty()); }).empty());
  const std::string config = "config->p2p_below_switches is -1 at rank 0 and 1 at rank 1 [R0302]";
  CHECK(both([&] { CHECK(detected(1, 1).find(config) != std::string::npos); }).find(config) !=
        std::string::npos);
  for (rondo_comm_t comm : comms) REQUIRE(rondo_leave(comm) == RONDO_OK);
}

TEST_CASE("a topology has the nodes, links and paths of the machine") {
  Owned dgx;
  named(dgx, "dgx-1v");
  int nodes = 0, links = 0, remarks = -1, gpus = 0;
  REQUIRE(rondo_topology_counts(dgx.topology, &nodes, &links, &remarks) == RONDO_OK);
  CHECK(remarks == 0);
  int first = -1, last = -1;
  for (int i = 0; i != nodes; ++i)
    if (node(dgx.topology, i).kind == std::string("GPU")) {
      if (gpus++ == 0) first = i;
      last = i;
    }
  CHECK(gpus == 8);
  CHECK(node(dgx.topology, first).name == std::string("gpu0"));
  CHECK(node(dgx.topology, first).bus_id == std::string("0000:11:00.0"));
  CHECK(node(dgx.topology, last).dev == 7);
  double nvlink = 0;
  for (int i = 0; i != links; ++i) {
    rondo_topology_link_t link = {};
    link.size = sizeof(link);
    REQUIRE(rondo_topology_link(dgx.topology, i, &link) == RONDO_OK);
    if (link.from == first && link.link_class == std::string("NVLink")) nvlink += link.bandwidth;
  }
  CHECK(nvlink == 120);
  rondo_topology_path_t path = {};
  path.size = sizeof(path);
  REQUIRE(rondo_topology_path(dgx.topology, first, last, &path) == RONDO_OK);
  CHECK(path.path_class == std::string("NVB"));
  CHECK(path.bandwidth == 40);
  CHECK(path.hops == 2);
}

TEST_CASE("what is saved is loaded again, and what is no description is refused with line and reason") {
  const Folder folder;
  const std::string path = folder.path() + "/box.xml";
  Owned box, again;
  named(box, "mi300x");
  REQUIRE(rondo_topology_save(box.topology, path.c_str()) == RONDO_OK);
  REQUIRE(rondo_topology_load(&again.topology, path.c_str(), nullptr) == RONDO_OK);
  int links = 0, links_again = 0;
  REQUIRE(rondo_topology_counts(box.topology, nullptr, &links, nullptr) == RONDO_OK);
  REQUIRE(rondo_topology_counts(again.topology, nullptr, &links_again, nullptr) == RONDO_OK);
  CHECK(links == links_again);
  std::ofstream(path) << "<system version=\"1\">\n<cpu numaid=\"0\">\n<pci busid=\"here\"/></cpu></system>\n";
  rondo_topology_t wrong = again.topology;
  refused(rondo_topology_load(&wrong, path.c_str(), nullptr), RONDO_INVALID_ARGUMENT, path + ":3: ");
  CHECK(wrong == nullptr);
}

TEST_CASE("several hosts and switches without P2P are settings") {
  Owned boxes;
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  config.hosts = 2;
  config.p2p_below_switches = 0;
  named(boxes, "pcie-8gpu", &config);
  int nodes = 0, gpus = 0, halves = 0;
  REQUIRE(rondo_topology_counts(boxes.topology, &nodes, nullptr, nullptr) == RONDO_OK);
  for (int i = 0; i != nodes; ++i) {
    const std::string kind = node(boxes.topology, i).kind;
    gpus += kind == "GPU" ? 1 : 0;
    halves += kind == "PCI switch" ? 1 : 0;
  }
  CHECK(gpus == 16);
  CHECK(halves == 2 * 2 * 2);
}

TEST_CASE("arguments that make no sense are refused by name") {
  Owned box;
  named(box, "hgx-a100");
  rondo_topology_t none = nullptr;
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  refused(rondo_topology_named(nullptr, "dgx-2", nullptr), RONDO_INVALID_ARGUMENT, "topology is NULL");
  refused(rondo_topology_named(&none, nullptr, nullptr), RONDO_INVALID_ARGUMENT, "name is NULL");
  refused(rondo_topology_named(&none, "dgx-3", nullptr), RONDO_INVALID_ARGUMENT,
          "no machine is called 'dgx-3'");
  config.hosts = 65;
  refused(rondo_topology_named(&none, "dgx-2", &config), RONDO_INVALID_ARGUMENT,
          "config->hosts is 65: expected 1 to 64");
  config.hosts = 1;
  config.p2p_below_switches = 2;
  refused(rondo_topology_named(&none, "dgx-2", &config), RONDO_INVALID_ARGUMENT, "p2p_below_switches is 2");
  config.size = 4;
  refused(rondo_topology_named(&none, "dgx-2", &config), RONDO_INVALID_ARGUMENT, "config->size is 4");
  refused(rondo_topology_load(&none, "/nowhere/at/all", nullptr), RONDO_SYSTEM_ERROR,
          "/nowhere/at/all: No such file");
  rondo_topology_node_t node = {};
  refused(rondo_topology_node(box.topology, 0, &node), RONDO_INVALID_ARGUMENT, "node->size is 0");
  node.size = sizeof(node);
  refused(rondo_topology_node(box.topology, -1, &node), RONDO_INVALID_ARGUMENT,
          "index is -1: expected 0 to ");
  refused(rondo_topology_node(nullptr, 0, &node), RONDO_INVALID_ARGUMENT, "topology is NULL");
  rondo_topology_path_t path = {};
  path.size = sizeof(path);
  refused(rondo_topology_path(box.topology, 0, 1, &path), RONDO_INVALID_ARGUMENT,
          "which is numa0: expected a GPU");
  const char* text = nullptr;
  refused(rondo_topology_remark(box.topology, 0, &text), RONDO_INVALID_ARGUMENT,
          "index is 0: there are none");
  CHECK(rondo_topology_free(nullptr) == RONDO_OK);
}

TEST_CASE("the limit of a collective is the figure of the machine, and says what it is due to") {
  for (const auto& [name, bandwidth, all] :
       std::vector<std::tuple<const char*, double, double>>{{"dgx-1v", 120, 132},
                                                            {"hgx-h100", 370.8, 418.8},
                                                            {"hgx-b200", 721.8, 769.8},
                                                            {"mi300x", 336, 384}}) {
    INFO(name);
    Owned box;
    named(box, name);
    rondo_topology_limit_t limit = {};
    limit.size = sizeof(limit);
    REQUIRE(rondo_topology_limit(box.topology, "all_reduce", 0, 0, &limit) == RONDO_OK);
    CHECK(limit.bandwidth == Approx(bandwidth));
    CHECK(limit.ceiling == limit.bandwidth);
    CHECK(limit.reached == 1);
    CHECK_THAT(limit.limit, Catch::Contains("into gpu0"));
    REQUIRE(rondo_topology_limit(box.topology, "all_reduce", 0, 1, &limit) == RONDO_OK);
    CHECK(limit.bandwidth == Approx(all));
    rondo_topology_plan_t plan = {};
    plan.size = sizeof(plan);
    REQUIRE(rondo_topology_plan(box.topology, 0, &plan) == RONDO_OK);
    CHECK(plan.bandwidth == Approx(bandwidth));
    CHECK(plan.trees >= 8);
    CHECK(plan.complete == 1);
    refused(rondo_topology_limit(box.topology, "all_reduces", 0, 0, &limit), RONDO_INVALID_ARGUMENT,
            "did you mean all_reduce?");
    refused(rondo_topology_limit(box.topology, "barrier", 0, 0, &limit), RONDO_INVALID_ARGUMENT, "barrier");
    refused(rondo_topology_limit(box.topology, "broadcast", 8, 0, &limit), RONDO_INVALID_ARGUMENT, "root");
  }
}

TEST_CASE("NVSwitches that combine have stars, others are refused with the reason") {
  Owned hopper, ampere;
  named(hopper, "hgx-h100");
  named(ampere, "hgx-a100");
  rondo_topology_stars_t stars = {};
  refused(rondo_topology_stars(hopper.topology, &stars), RONDO_INVALID_ARGUMENT, "stars->size is 0");
  stars.size = sizeof(stars);
  REQUIRE(rondo_topology_stars(hopper.topology, &stars) == RONDO_OK);
  CHECK(stars.bandwidth == Approx(370.8 * 14 / 9));
  CHECK(stars.ceiling == Approx(370.8 * 14 / 8));
  CHECK(stars.heads == 8);
  refused(rondo_topology_stars(ampere.topology, &stars), RONDO_UNSUPPORTED, "no NVSwitch that combines");
  refused(rondo_topology_stars(hopper.topology, nullptr), RONDO_INVALID_ARGUMENT, "stars is NULL");
}

TEST_CASE("the hops of a plan are trees from every GPU, within the links and at the plan's bandwidth") {
  for (const char* name : {"dgx-1v", "hgx-h100", "mi250", "pcie-8gpu"}) {
    for (const int all_links : {0, 1}) {
      CAPTURE(name, all_links);
      Owned box;
      named(box, name);
      rondo_topology_plan_t plan = {};
      plan.size = sizeof(plan);
      REQUIRE(rondo_topology_plan(box.topology, all_links, &plan) == RONDO_OK);
      std::map<int, double> loads;                    // by link
      std::map<int, std::set<int>> reached;           // GPUs, by tree
      std::map<std::tuple<int, int, int>, int> ends;  // where an edge has come to
      std::map<int, std::pair<int, int>> roots;       // and parts, by tree
      rondo_topology_plan_hop_t hop = {};
      hop.size = sizeof(hop);
      for (int i = 0; rondo_topology_plan_hop(box.topology, all_links, i, &hop) == RONDO_OK && hop.tree >= 0;
           ++i) {
        rondo_topology_link_t link = {};
        link.size = sizeof(link);
        REQUIRE(rondo_topology_link(box.topology, hop.link, &link) == RONDO_OK);
        const bool known_parent = hop.parent == hop.root || reached[hop.tree].count(hop.parent) == 1;
        CHECK(known_parent);
        int& end = ends.emplace(std::tuple(hop.tree, hop.parent, hop.child), hop.parent).first->second;
        if (end == hop.child) end = hop.parent;  // the next route
        CHECK(link.from == end);
        end = link.to;
        if (end == hop.child) reached[hop.tree].insert(hop.child);
        CHECK(hop.depth <= plan.depth);
        loads[hop.link] += hop.bandwidth;
        CHECK(loads[hop.link] <= link.bandwidth * (1 + 1e-9));
        roots[hop.tree] = {hop.root, hop.parts};
      }
      CHECK(hop.tree == -1);
      CHECK(hop.link == -1);
      CHECK(hop.size == sizeof(hop));
      CHECK(static_cast<int>(reached.size()) == plan.trees);
      for (const auto& [tree, gpus] : reached) CHECK(gpus.size() == 7);
      std::map<int, int> parts;
      for (const auto& [tree, root] : roots) parts[root.first] += root.second;
      CHECK(parts.size() == 8);
      for (const auto& [root, sum] : parts) CHECK(sum == plan.parts_per_root);
      double fullest = 0;
      for (const auto& [index, load] : loads) {
        rondo_topology_link_t link = {};
        link.size = sizeof(link);
        REQUIRE(rondo_topology_link(box.topology, index, &link) == RONDO_OK);
        fullest = std::max(fullest, load / link.bandwidth);
      }
      CHECK(fullest == Approx(1));
    }
  }
  Owned box;
  named(box, "dgx-1v");
  rondo_topology_plan_hop_t hop = {};
  refused(rondo_topology_plan_hop(box.topology, 0, 0, &hop), RONDO_INVALID_ARGUMENT, "hop->size is 0");
  refused(rondo_topology_plan_hop(nullptr, 0, 0, &hop), RONDO_INVALID_ARGUMENT, "topology is NULL");
}

TEST_CASE("threads use one topology at once") {
  const Folder folder;
  const std::string path = folder / "graph.xml";
  Owned dgx;
  named(dgx, "dgx-1v");
  REQUIRE(rondo_topology_save_graph(dgx.topology, 0, path.c_str()) == RONDO_OK);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  constexpr int kThreads = 4;
  for (int i = 0; i != kThreads; ++i)
    threads.emplace_back([&] {
      rondo_topology_rings_t rings = {};
      rings.size = sizeof(rings);
      rondo_topology_plan_t plan = {};
      plan.size = sizeof(plan);
      rondo_topology_limit_t limit = {};
      limit.size = sizeof(limit);
      int first = -1, count = 0;
      const bool all = rondo_topology_plan(dgx.topology, 0, &plan) == RONDO_OK &&
                       rondo_topology_rings(dgx.topology, 0, &rings) == RONDO_OK &&
                       rondo_topology_limit(dgx.topology, "all_gather", 0, 0, &limit) == RONDO_OK &&
                       rondo_topology_load_graphs(dgx.topology, path.c_str(), 0, &first, &count) == RONDO_OK;
      if (all && plan.bandwidth == limit.bandwidth && rings.bandwidth <= limit.bandwidth && count == 1)
        ++good;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == kThreads);
}
