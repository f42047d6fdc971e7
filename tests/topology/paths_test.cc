// SPDX-License-Identifier: Apache-2.0
// Paths against all simple paths of random graphs, whose classes are told by how they are spelled.
#include <algorithm>
#include <map>
#include <random>
#include <regex>

#include "catch.h"
#include "graph/paths.h"
#include "seed.h"

namespace {

using namespace rondo;
using rondo::test::test_seed;

struct RandomGraph {
  explicit RandomGraph(uint64_t seed) : random(seed) {
    const int hosts = pick(1, 2);
    for (int host = 0; host != hosts; ++host) add_host(host);
    if (hosts == 1 || nics.empty()) return;
    const int network = add(NodeKind::Network, 0);
    for (const int nic : nics) join(nic, network, LinkClass::Network);
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  int add(NodeKind kind, int host) {
    TopologyNode node;
    node.kind = kind;
    node.host = host;
    node.dev = static_cast<int>(nodes.size());
    nodes.push_back(node);
    return static_cast<int>(nodes.size()) - 1;
  }

  void join(int a, int b, LinkClass cls) {
    links.push_back({a, b, cls, 1, pick(1, 4)});
    links.push_back({b, a, cls, 1, pick(1, 4)});
  }

  void add_host(int host) {
    std::vector<int> cpus, above, gpus;
    const LinkClass of_cpus = pick(0, 1) == 0 ? LinkClass::C2C : LinkClass::NvLink;  // no CPU has both
    for (int i = pick(1, 2); i != 0; --i) cpus.push_back(add(NodeKind::Numa, host));
    if (cpus.size() == 2) join(cpus[0], cpus[1], LinkClass::Socket);
    above = cpus;
    const auto anywhere = [&] {
      return above[static_cast<size_t>(pick(0, static_cast<int>(above.size()) - 1))];
    };
    for (int i = pick(0, 2); i != 0; --i) {
      const int pci_switch = add(NodeKind::PciSwitch, host);
      join(pci_switch, anywhere(), LinkClass::Pcie);
      above.push_back(pci_switch);
    }
    for (int i = pick(1, 3); i != 0; --i) {
      gpus.push_back(add(NodeKind::Gpu, host));
      if (pick(0, 3) != 0) join(gpus.back(), anywhere(), LinkClass::Pcie);
      if (pick(0, 4) == 0) join(gpus.back(), cpus[0], of_cpus);
    }
    for (size_t a = 0; a != gpus.size(); ++a)
      for (size_t b = a + 1; b != gpus.size(); ++b)
        if (pick(0, 1) == 0) join(gpus[a], gpus[b], LinkClass::NvLink);
    for (int i = pick(-1, 2); i > 0; --i) {
      const int nvswitch = add(NodeKind::NvSwitch, host);
      for (const int gpu : gpus)
        if (pick(0, 2) != 0) join(gpu, nvswitch, LinkClass::NvLink);
    }
    for (int i = pick(0, 2); i != 0; --i) {
      nics.push_back(add(NodeKind::Nic, host));
      join(nics.back(), anywhere(), LinkClass::Pcie);
    }
  }

  std::mt19937_64 random;
  std::vector<TopologyNode> nodes;
  std::vector<TopologyLink> links;
  std::vector<int> nics;
};

/// A path as letters: G(PU), C(PU), S(witch), V: NVSwitch, N(IC), W: network; and the links between them n:
/// NVLink, c: C2C, p: PCIe, s(ocket), w: network.
std::string spelled(const TopologyGraph& graph, const std::vector<int>& links) {
  std::string text(1, 'G');
  for (const int link : links) {
    if (graph.link(link).count == 0) text += "nV";
    text += std::string_view("nxcpsw")[static_cast<size_t>(graph.link(link).cls)];
    text += std::string_view("GCSVNW")[static_cast<size_t>(graph.node(graph.link(link).to).kind)];
  }
  return text;
}

PathClass class_of(const std::string& path) {
  static const std::vector<std::pair<std::regex, PathClass>> kSpellings = [] {
    std::vector<std::pair<std::regex, PathClass>> rows;
    for (const auto& [pattern, cls] : std::vector<std::pair<const char*, PathClass>>{
             {"G", PathClass::Loc},
             {"G(n[VC])*n[GVC]", PathClass::Nvl},
             {"G(n[VC])*nG(nV)*n[GV]", PathClass::Nvb},
             {"GcC(cG)?", PathClass::C2C},
             {"G(pS)?(p[GN])?", PathClass::Pix},
             {"G(pS)*p[GSN]", PathClass::Pxb},
             {"GcC(pS)*pN", PathClass::P2C},
             {"G(n[VC])*nG(pS)*pN", PathClass::Pxn},
             // No GPU in between, and a NIC only at the end.
             {"G(([pnc]C|[pn][SV])*[pnc][GCS]|([pnc]C|[pn][SV])*pN)", PathClass::Phb},
             {"G([pncs][CSV])*([pncs][GCS]|pN)", PathClass::Sys},
             {"G([pncs][CSV])*pNwW(wN(p([CS][pncs])*[GCSN])?)?", PathClass::Net},
             {"G(n[VC])*nG(pS)*pNwW(wN(p([CS][pncs])*[GCSN])?)?", PathClass::Net}})
      rows.emplace_back(pattern, cls);
    return rows;
  }();
  // NVLinks are not reached from a PCI switch, only from GPUs, NVSwitches and CPUs: the graph has no others.
  for (const auto& [spelling, cls] : kSpellings)
    if (std::regex_match(path, spelling)) return cls;
  return PathClass::Dis;
}

struct Best {
  PathClass cls = PathClass::Dis;
  int64_t kBps = 0;
  int hops = 0;
  std::string way;

  bool operator<(const Best& other) const {
    return std::tuple(cls, -kBps, hops) < std::tuple(other.cls, -other.kBps, other.hops);
  }
};

void visit(const TopologyGraph& graph, std::vector<int>& links, std::vector<bool>& seen, int at, int64_t kBps,
           std::vector<Best>& best) {
  const int host = links.empty() ? graph.node(at).host : graph.node(graph.link(links.front()).from).host;
  const std::string way = spelled(graph, links);
  const Best here{class_of(way), kBps, static_cast<int>(way.size() / 2), way};
  if (here.cls != PathClass::Dis && here < best[static_cast<size_t>(at)])
    best[static_cast<size_t>(at)] = here;
  seen[static_cast<size_t>(at)] = true;
  for (const int index : graph.links_from(at)) {
    const TopologyLink& link = graph.link(index);
    if (seen[static_cast<size_t>(link.to)]) continue;
    const bool leaves_network = graph.node(at).kind == NodeKind::Network;
    if (leaves_network && graph.node(link.to).host == host)
      continue;  // a host does not reach itself that way
    links.push_back(index);
    visit(graph, links, seen, link.to, std::min(kBps, link.kBps), best);
    links.pop_back();
  }
  seen[static_cast<size_t>(at)] = false;
}

bool is_target(NodeKind kind) {
  return kind == NodeKind::Gpu || kind == NodeKind::Nic || kind == NodeKind::Numa;
}

/// Beside the links themselves one for each two GPUs that NVSwitches join, of the sum of what these carry.
/// Its count is 0.
struct Widened {
  explicit Widened(const TopologyGraph& graph) : links(graph.links().begin(), graph.links().end()) {
    std::map<std::pair<int, int>, int64_t> sums;
    for (const TopologyLink& in : graph.links())
      for (const int index : graph.links_from(in.to)) {
        const TopologyLink& out = graph.link(index);
        if (graph.node(in.to).kind != NodeKind::NvSwitch || in.from == out.to) continue;
        sums[{in.from, out.to}] += std::min(in.kBps, out.kBps);
      }
    for (const auto& [ends, kBps] : sums)
      links.push_back({ends.first, ends.second, LinkClass::NvLink, 0, kBps});
  }

  std::vector<TopologyLink> links;
};

void compare(const TopologyGraph& graph) {
  const Paths paths(graph);
  const Widened with_sums(graph);
  const TopologyGraph widened({graph.nodes().begin(), graph.nodes().end()}, with_sums.links);
  for (const int gpu : graph.gpus()) {
    std::vector<Best> best(graph.nodes().size());
    std::vector<bool> seen(graph.nodes().size());
    std::vector<int> links;
    visit(widened, links, seen, gpu, std::numeric_limits<int64_t>::max(), best);
    for (size_t node = 0; node != graph.nodes().size(); ++node) {
      if (!is_target(graph.nodes()[node].kind)) continue;
      const PathSummary found = paths.between(gpu, static_cast<int>(node));
      const auto way = paths.links(gpu, static_cast<int>(node));
      INFO("from node " << gpu << " to " << node << ": " << spelled(graph, way) << ", expected "
                        << best[node].way);
      REQUIRE(path_class_name(found.cls) == path_class_name(best[node].cls));
      REQUIRE(found.kBps == best[node].kBps);
      REQUIRE(found.hops == best[node].hops);
      if (found.cls == PathClass::Dis) continue;
      if (std::ssize(way) == found.hops) REQUIRE(class_of(spelled(graph, way)) == found.cls);
    }
  }
}

}  // namespace

TEST_CASE("the best paths are those that a search of all simple paths finds") {
  const uint64_t seed = test_seed(1);
  for (uint64_t i = 0; i != 500; ++i) {
    RandomGraph random(seed + i);
    INFO("graph of seed " << seed + i);
    compare(TopologyGraph(random.nodes, random.links));
  }
}
