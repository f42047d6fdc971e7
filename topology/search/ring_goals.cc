// SPDX-License-Identifier: Apache-2.0
#include "ring_goals.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "limit/rational.h"

namespace rondo {
namespace {

bool is_open(const RingHop& hop, int network) { return hop.network < 0 || hop.network == network; }

/// A node and what it is worth: of equal worth, the lower place comes first.
struct NodeWorth {
  int64_t worth;
  int place;
  int node;
};

template <typename Compare>
std::vector<int> in_order(std::vector<NodeWorth> candidates, Compare is_better) {
  std::ranges::sort(candidates, [&](const NodeWorth& a, const NodeWorth& b) {
    return a.worth != b.worth ? is_better(a.worth, b.worth) : a.place < b.place;
  });
  std::vector<int> nodes;
  nodes.reserve(candidates.size());
  for (const NodeWorth& candidate : candidates) nodes.push_back(candidate.node);
  return nodes;
}

}  // namespace

WidestRing::WidestRing(const RingHops& hops, const std::vector<int64_t>& left, const std::vector<int>& places,
                       int network, int64_t enough)
    : hops_(hops), left_(left), places_(places), network_(network), enough_(enough), taken_(left.size()) {}

WidestRing::WideWay WidestRing::widest_way(int from, int to) const {
  WideWay widest;
  const std::vector<RingHop>& ways = hops_.between(from, to);
  for (size_t i = 0; i != ways.size(); ++i) {
    if (!is_open(ways[i], network_)) continue;
    int64_t kBps = so_far();
    for (const RowUse& use : ways[i].uses) {
      const auto row = static_cast<size_t>(use.row);
      kBps = std::min(kBps, left_[row] / (taken_[row] + use.amount));
    }
    if (kBps > widest.kBps) widest = {static_cast<int>(i), kBps};
  }
  return widest;
}

std::vector<int> WidestRing::nodes_after(int from, const std::vector<int>& left) {
  std::vector<NodeWorth> candidates;
  for (const int to : left)
    if (const int64_t kBps = widest_way(from, to).kBps; kBps > found_.kBps)
      candidates.push_back({kBps, places_[static_cast<size_t>(to)], to});
  return in_order(std::move(candidates), std::greater());
}

bool WidestRing::enter(int from, int to) {
  const WideWay way = widest_way(from, to);
  if (way.kBps <= found_.kBps) return false;
  const RingHop& hop = hops_.between(from, to)[static_cast<size_t>(way.index)];
  for (const RowUse& use : hop.uses) taken_[static_cast<size_t>(use.row)] += use.amount;
  entered_.push_back({&hop, way.index, way.kBps});
  return true;
}

void WidestRing::leave() {
  for (const RowUse& use : entered_.back().hop->uses) taken_[static_cast<size_t>(use.row)] -= use.amount;
  entered_.pop_back();
}

bool WidestRing::complete(const std::vector<int>& order) {
  found_ = {order, {}, network_, so_far()};
  for (const Entered& hop : entered_) found_.ways.push_back(hop.index);
  return found_.kBps >= enough_;
}

CheapestRing::CheapestRing(const RingHops& hops, const std::vector<int64_t>& prices, int network,
                           int64_t limit)
    : nodes_(hops.nodes()), network_(network), limit_(limit) {
  cheapest_into_.assign(static_cast<size_t>(nodes_), limit);
  for (int from = 0; from != nodes_; ++from)
    for (int to = 0; to != nodes_; ++to) {
      ways_.push_back(cheapest_way(hops, prices, from, to));
      int64_t& cheapest = cheapest_into_[static_cast<size_t>(to)];
      if (ways_.back().index >= 0) cheapest = std::min(cheapest, ways_.back().cost);
    }
  for (const int64_t cost : cheapest_into_) rest_ = std::min(limit, rest_ + cost);
}

/// None costs `limit` or more.
CheapestRing::CheapWay CheapestRing::cheapest_way(const RingHops& hops, const std::vector<int64_t>& prices,
                                                  int from, int to) const {
  CheapWay cheapest{-1, limit_};
  const std::vector<RingHop>& ways = hops.between(from, to);
  for (size_t i = 0; i != ways.size(); ++i) {
    if (!is_open(ways[i], network_)) continue;
    WideInteger cost = 0;
    for (const RowUse& use : ways[i].uses)
      cost += WideInteger{prices[static_cast<size_t>(use.row)]} * use.amount;
    if (cost < cheapest.cost) cheapest = {static_cast<int>(i), static_cast<int64_t>(cost)};
  }
  return cheapest;
}

std::vector<int> CheapestRing::nodes_after(int from, const std::vector<int>& left) const {
  std::vector<NodeWorth> candidates;
  for (const int to : left)
    if (way(from, to).index >= 0) candidates.push_back({way(from, to).cost, to, to});
  return in_order(std::move(candidates), std::less());
}

bool CheapestRing::enter(int from, int to) {
  const CheapWay& hop = way(from, to);
  const int64_t rest = rest_ - cheapest_into_[static_cast<size_t>(to)];
  if (hop.index < 0 || cost_ + hop.cost + rest >= limit_) return false;
  cost_ += hop.cost;
  rest_ = rest;
  entered_.emplace_back(from, to);
  return true;
}

void CheapestRing::leave() {
  const auto [from, to] = entered_.back();
  entered_.pop_back();
  cost_ -= way(from, to).cost;
  rest_ += cheapest_into_[static_cast<size_t>(to)];
}

bool CheapestRing::complete(const std::vector<int>& order) {
  found_ = {order, {}, network_, 0};
  for (const auto& [from, to] : entered_) found_.ways.push_back(way(from, to).index);
  limit_ = cost_;
  return false;
}

}  // namespace rondo
