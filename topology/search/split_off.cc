// SPDX-License-Identifier: Apache-2.0
#include "split_off.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace rondo {
namespace {

/// Capacity past a switch, from one of its neighbours to another.
struct Detour {
  int from = 0;
  int to = 0;
  int64_t amount = 0;
};

class SplitOff {
 public:
  explicit SplitOff(GatherNetwork network) : network_(std::move(network)) {
    for (int from = 0; from != network_.nodes(); ++from)
      for (const int to : network_.after(from))
        strands_[{from, to}] = {{network_.capacity(from, to), {from, to}}};
  }

  LogicalGraph run() {
    std::vector<int> switches;
    for (int node = network_.gpus(); node != network_.nodes(); ++node) switches.push_back(node);
    while (!switches.empty() && !network_.is_limit_over()) {
      const auto next =
          std::ranges::min_element(switches, {}, [this](int node) { return switches_beside(node); });
      remove(*next);
      switches.erase(next);
    }
    LogicalGraph logical(network_.gpus());
    for (auto& [ends, strands] : strands_)
      if (ends.first < network_.gpus() && ends.second < network_.gpus())
        logical.strands(ends.first, ends.second) = std::move(strands);
    return logical;
  }

 private:
  /// Switches among GPUs go first: what stays below them does not load those above.
  int64_t switches_beside(int node) const {
    const auto is_switch = [this](int other) { return other >= network_.gpus(); };
    return std::ranges::count_if(network_.before(node), is_switch) +
           std::ranges::count_if(network_.after(node), is_switch);
  }

  void remove(int node) {
    std::vector<Detour> pairs = pairs_around(node);
    const int64_t most = half_share(node);
    while (!pairs.empty()) {
      plan_round(node, most, pairs);
      const std::vector<Detour> planned = pairs;
      split(node, pairs);
      if (network_.is_limit_over()) return;
      std::vector<Detour> left;
      for (size_t i = 0; i != pairs.size(); ++i)
        if (pairs[i].amount == planned[i].amount && room(node, pairs[i]) > 0) left.push_back(pairs[i]);
      pairs = std::move(left);
    }
    close(node);
  }

  /// GPUs before switches. Neighbours side by side in the list of all first, then those at distance 2, and so
  /// on: what does not divide evenly is spread as well.
  std::vector<Detour> pairs_around(int node) const {
    const std::vector<int> before = network_.before(node), after = network_.after(node);
    std::vector<Detour> pairs;
    for (size_t distance = 0; distance != after.size(); ++distance)
      for (size_t i = 0; i != before.size(); ++i)
        if (const int to = after[(i + distance) % after.size()]; to != before[i])
          pairs.push_back({before[i], to, 0});
    std::ranges::stable_sort(pairs, {}, [this](const Detour& pair) {
      return (pair.from >= network_.gpus()) + (pair.to >= network_.gpus());
    });
    return pairs;
  }

  int64_t room(int node, const Detour& pair) const {
    return std::min(network_.capacity(pair.from, node), network_.capacity(node, pair.to));
  }

  /// Half of the largest even share of a pair, so that a few rounds deal out everything.
  int64_t half_share(int node) const {
    const std::vector<int> before = network_.before(node), after = network_.after(node);
    int64_t widest = 0;
    for (const int other : before)
      widest = std::max(widest, network_.capacity(other, node) / std::max<int64_t>(std::ssize(after) - 1, 1));
    for (const int other : after)
      widest =
          std::max(widest, network_.capacity(node, other) / std::max<int64_t>(std::ssize(before) - 1, 1));
    return std::max<int64_t>(widest / 2, 1);
  }

  void plan_round(int node, int64_t most, std::vector<Detour>& pairs) const {
    std::map<int, int64_t> entering, leaving;
    for (const Detour& pair : pairs) {
      entering[pair.from] = network_.capacity(pair.from, node);
      leaving[pair.to] = network_.capacity(node, pair.to);
    }
    for (Detour& pair : pairs) {
      pair.amount = std::min({most, entering[pair.from], leaving[pair.to]});
      entering[pair.from] -= pair.amount;
      leaving[pair.to] -= pair.amount;
    }
  }

  /// Lowers each detour to what costs no GPU anything, and makes it. Few cost anything: so all are tried at
  /// once, then halves of them.
  void split(int node, std::span<Detour> detours) {
    if (network_.is_limit_over()) return;
    for (const Detour& detour : detours) bypass(node, detour, detour.amount);
    const int64_t too_much = network_.shortfall(detours.size() == 1 ? detours[0].amount : 1);
    if (too_much > 0 && detours.size() > 1) {
      for (const Detour& detour : detours) bypass(node, detour, -detour.amount);
      split(node, detours.first(detours.size() / 2));
      split(node, detours.subspan(detours.size() / 2));
      return;
    }
    bypass(node, detours[0], -too_much);
    detours[0].amount -= too_much;
    for (const Detour& detour : detours) lay_strands(node, detour);
  }

  void bypass(int node, const Detour& detour, int64_t amount) {
    if (amount == 0) return;
    network_.add_capacity(detour.from, node, -amount);
    network_.add_capacity(node, detour.to, -amount);
    network_.add_capacity(detour.from, detour.to, amount);
  }

  /// Strands into the switch, joined to strands out of it.
  void lay_strands(int node, const Detour& detour) {
    std::vector<Strand>& into = strands_[{detour.from, node}];
    std::vector<Strand>& out_of = strands_[{node, detour.to}];
    std::vector<Strand>& past = strands_[{detour.from, detour.to}];
    for (int64_t left = detour.amount; left > 0;) {
      Strand joined = into.back();
      joined.amount = std::min({left, into.back().amount, out_of.back().amount});
      joined.nodes.insert(joined.nodes.end(), out_of.back().nodes.begin() + 1, out_of.back().nodes.end());
      for (std::vector<Strand>* used : {&into, &out_of})
        if ((used->back().amount -= joined.amount) == 0) used->pop_back();
      left -= joined.amount;
      const auto same = std::ranges::find(past, joined.nodes, &Strand::nodes);
      if (same == past.end())
        past.push_back(std::move(joined));
      else
        same->amount += joined.amount;
    }
  }

  /// What is left leads back to where it came from.
  void close(int node) {
    for (const int other : network_.before(node))
      network_.add_capacity(other, node, -network_.capacity(other, node));
    for (const int other : network_.after(node))
      network_.add_capacity(node, other, -network_.capacity(node, other));
    network_.forget_edges_without_capacity();
  }

  GatherNetwork network_;
  std::map<std::pair<int, int>, std::vector<Strand>> strands_;
};

}  // namespace

int64_t LogicalGraph::capacity(int from, int to) const {
  int64_t sum = 0;
  for (const Strand& strand : strands_[index(from, to)]) sum += strand.amount;
  return sum;
}

LogicalGraph split_off_switches(GatherNetwork network) { return SplitOff(std::move(network)).run(); }

}  // namespace rondo
