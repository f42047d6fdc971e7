// SPDX-License-Identifier: Apache-2.0
#include "limit/usable_links.h"

#include <algorithm>

#include "limit/flow_network.h"
#include "limit/rational.h"

namespace rondo {
namespace {

struct IncidentLinks {
  std::vector<int> in, out;
};

std::vector<IncidentLinks> incident_links(const TopologyGraph& graph) {
  std::vector<IncidentLinks> incident(graph.nodes().size());
  for (size_t i = 0; i != graph.links().size(); ++i) {
    incident[static_cast<size_t>(graph.links()[i].from)].out.push_back(static_cast<int>(i));
    incident[static_cast<size_t>(graph.links()[i].to)].in.push_back(static_cast<int>(i));
  }
  return incident;
}

bool forwards(const TopologyGraph& graph, size_t node) { return graph.nodes()[node].kind != NodeKind::Gpu; }

/// Takes away the links of nodes that no path leads through: those with a single neighbour, and NICs without
/// a network.
class DeadEnds {
 public:
  DeadEnds(const TopologyGraph& graph, UsableLinks& links)
      : graph_(graph), links_(links), incident_(incident_links(graph)) {}

  void remove() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t node = 0; node != incident_.size(); ++node)
        if (forwards(graph_, node) && is_dead_end(node)) changed |= remove_links(incident_[node]);
    }
  }

 private:
  bool is_dead_end(size_t node) const {
    int neighbour = -1;
    bool several = false;
    bool has_network = false;
    const auto visit = [&](int index, int other) {
      if (links_.kBps[static_cast<size_t>(index)] == 0) return;
      several |= neighbour >= 0 && other != neighbour;
      neighbour = other;
      has_network |= graph_.link(index).cls == LinkClass::Network;
    };
    for (const int index : incident_[node].in) visit(index, graph_.link(index).from);
    for (const int index : incident_[node].out) visit(index, graph_.link(index).to);
    return !several || (graph_.nodes()[node].kind == NodeKind::Nic && !has_network);
  }

  bool remove_links(const IncidentLinks& incident) {
    bool changed = false;
    for (const std::vector<int>* const indices : {&incident.in, &incident.out}) {
      for (const int index : *indices) {
        changed |= links_.kBps[static_cast<size_t>(index)] != 0;
        links_.kBps[static_cast<size_t>(index)] = 0;
      }
    }
    return changed;
  }

  const TopologyGraph& graph_;
  UsableLinks& links_;
  const std::vector<IncidentLinks> incident_;
};

class Trimmer {
 public:
  Trimmer(const TopologyGraph& graph, UsableLinks& links)
      : graph_(graph), links_(links), incident_(incident_links(graph)) {}

  bool trim() {
    bool trimmed = false;
    for (int pass = 0; pass != kPasses; ++pass) {
      bool changed = false;
      for (size_t node = 0; node != incident_.size(); ++node)
        if (forwards(graph_, node)) changed |= trim_between(static_cast<int>(node));
      for (size_t node = 0; node != incident_.size(); ++node)
        if (forwards(graph_, node)) changed |= trim_node(static_cast<int>(node));
      if (!changed) return trimmed;
      trimmed = true;
    }
    trim_what_is_left();
    return trimmed;
  }

 private:
  // Trimming a switch may unbalance the next. Trees of switches are balanced after a pass for each level;
  // only where unequal switches form cycles would passes go on and on.
  static constexpr int kPasses = 16;

  int64_t sum(const std::vector<int>& links) const {
    int64_t total = 0;
    for (const int link : links) total += links_.kBps[static_cast<size_t>(link)];
    return total;
  }

  /// What the node receives more than it sends; negative: less.
  int64_t excess(int node) const {
    return sum(incident_[static_cast<size_t>(node)].in) - sum(incident_[static_cast<size_t>(node)].out);
  }

  /// Trims what a node that receives too much gets from those that send too much, as both gain by it.
  bool trim_between(int node) {
    const auto spare = [this](int link) {
      const int from = graph_.link(link).from;
      if (!forwards(graph_, static_cast<size_t>(from))) return int64_t{0};
      return std::clamp<int64_t>(-excess(from), 0, links_.kBps[static_cast<size_t>(link)]);
    };
    int64_t left = excess(node);
    bool changed = false;
    for (const int link : incident_[static_cast<size_t>(node)].in) {
      if (left <= 0) break;
      const int64_t taken = std::min(left, spare(link));
      if (taken == 0) continue;
      links_.kBps[static_cast<size_t>(link)] -= taken;
      links_.trimmed_by[static_cast<size_t>(link)] = node;
      left -= taken;
      changed = true;
    }
    return changed;
  }

  bool trim_node(int node) {
    const IncidentLinks& incident = incident_[static_cast<size_t>(node)];
    const int64_t in = sum(incident.in);
    const int64_t out = sum(incident.out);
    if (in == out) return false;
    const std::vector<int>& wider = in > out ? incident.in : incident.out;
    const int64_t wide = std::max(in, out);
    const int64_t narrow = std::min(in, out);
    // Shares are differences of rounded sums, so they add up to `narrow`; none exceeds what the link had.
    WideInteger before = 0;
    for (const int link : wider) {
      int64_t& kBps = links_.kBps[static_cast<size_t>(link)];
      const WideInteger upto = before + kBps;
      const auto share = static_cast<int64_t>(upto * narrow / wide - before * narrow / wide);
      if (share != kBps) links_.trimmed_by[static_cast<size_t>(link)] = node;
      kBps = share;
      before = upto;
    }
    return true;
  }

  /// Takes a circulation away that is as large, at every node, as the node's sides differ. The GPUs are one
  /// node of it, which may send and receive what it likes.
  void trim_what_is_left() {
    const auto nodes = static_cast<int>(incident_.size());
    const int gpus = nodes, source = nodes + 1, sink = nodes + 2;
    FlowNetwork network(nodes + 3);
    const auto place = [&](int node) { return forwards(graph_, static_cast<size_t>(node)) ? node : gpus; };
    for (size_t i = 0; i != links_.kBps.size(); ++i) {
      const TopologyLink& link = graph_.links()[i];
      network.add_edge(place(link.from), place(link.to), links_.kBps[i]);
    }
    int64_t received = 0, sent = 0;  // too much
    for (int node = 0; node != nodes; ++node) {
      if (place(node) == gpus) continue;
      const int64_t too_much = excess(node);
      if (too_much > 0) network.add_edge(node, sink, too_much);
      if (too_much < 0) network.add_edge(source, node, -too_much);
      (too_much > 0 ? received : sent) += std::abs(too_much);
    }
    network.add_edge(source, gpus, received);
    network.add_edge(gpus, sink, sent);
    network.max_flow(source, sink);
    for (size_t i = 0; i != links_.kBps.size(); ++i) {
      const int64_t taken = network.flow(static_cast<int>(i));
      if (taken == 0) continue;
      links_.kBps[i] -= taken;
      const TopologyLink& link = graph_.links()[i];
      if (links_.trimmed_by[i] < 0) links_.trimmed_by[i] = place(link.to) == gpus ? link.from : link.to;
    }
  }

  const TopologyGraph& graph_;
  UsableLinks& links_;
  const std::vector<IncidentLinks> incident_;
};

}  // namespace

UsableLinks usable_links(const TopologyGraph& graph, std::span<const int> gpus) {
  std::vector<bool> takes_part(graph.nodes().size());
  bool one_host = true;
  for (const int gpu : gpus) {
    takes_part[static_cast<size_t>(gpu)] = true;
    one_host &= graph.node(gpu).host == graph.node(gpus[0]).host;
  }
  for (size_t node = 0; node != takes_part.size(); ++node)
    if (forwards(graph, node))
      takes_part[node] = !one_host || (graph.nodes()[node].kind != NodeKind::Network &&
                                       graph.nodes()[node].host == graph.node(gpus[0]).host);
  UsableLinks links;
  links.trimmed_by.assign(graph.links().size(), -1);
  for (const TopologyLink& link : graph.links())
    links.kBps.push_back(takes_part[static_cast<size_t>(link.from)] &&
                                 takes_part[static_cast<size_t>(link.to)]
                             ? std::max<int64_t>(link.kBps, 0)
                             : 0);
  DeadEnds(graph, links).remove();
  return links;
}

bool trim_switches(const TopologyGraph& graph, UsableLinks& links) { return Trimmer(graph, links).trim(); }

}  // namespace rondo
