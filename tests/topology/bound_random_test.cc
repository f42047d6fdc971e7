// SPDX-License-Identifier: Apache-2.0
// Bounds of random graphs against all cuts of them, one by one.
#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

#include "catch.h"
#include "limit/bound.h"
#include "limit/usable_links.h"
#include "random_graphs.h"
#include "seed.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int kMaxNodes = 12;

class CutGraphs : public RandomChoices {
 public:
  using RandomChoices::RandomChoices;

  /// GPUs and switches. If `balanced`, the switches send as much as they receive.
  TopologyGraph graph(bool balanced) {
    const int gpus = between(2, chance(10) ? kMaxNodes : 8);
    const int switches = between(0, std::min(kMaxNodes - gpus, 5));
    nodes_.clear();
    links_.clear();
    for (int dev = 0; dev != gpus; ++dev) nodes_.push_back(gpu_node(dev));
    constexpr NodeKind kKinds[] = {NodeKind::Numa, NodeKind::PciSwitch, NodeKind::NvSwitch};
    for (int i = 0; i != switches; ++i)
      nodes_.push_back(other_node(kKinds[between(0, 2)], fmt::format("switch{}", i)));
    std::ranges::shuffle(nodes_, random_);
    const int rounds = between(1, 12);
    for (int round = 0; round != rounds; ++round) add_cycle();
    const int single = between(0, 2 * gpus);
    for (int i = 0; i != single; ++i) add_single(balanced);
    return {nodes_, links_};
  }

  /// Two or three hosts joined by a network: equal but for a bandwidth now and then, or a link between them.
  TopologyGraph hosts() {
    nodes_.clear();
    links_.clear();
    const int hosts = between(2, 3), gpus = between(1, 2), network = hosts * (gpus + 1);
    std::vector<int64_t> speeds;
    for (int i = 0; i != 2 * (gpus + 1); ++i) speeds.push_back(between(1, 20));
    for (int host = 0; host != hosts; ++host) {
      const int first = host * (gpus + 1), node = first + gpus;
      auto kBps = speeds.begin();
      const auto add = [&](int from, int to) { add_link(from, to, chance(5) ? bandwidth() : *kBps); };
      for (int dev = 0; dev != gpus; ++dev, kBps += 2) {
        nodes_.push_back(gpu_node(dev));
        add(first + dev, node);
        add(node, first + dev);
      }
      nodes_.push_back(other_node(NodeKind::PciSwitch, fmt::format("switch{}", host)));
      add(node, network);
      add(network, node);
      for (int i = first; i <= node; ++i) nodes_[static_cast<size_t>(i)].host = host;
    }
    nodes_.push_back(other_node(NodeKind::Network, "network"));
    if (chance(20)) add_link(between(0, gpus), gpus + 1 + between(0, gpus), bandwidth());
    return {nodes_, links_};
  }

  /// Two GPUs or more.
  std::vector<int> some_gpus(const TopologyGraph& graph) {
    std::vector<int> gpus(graph.gpus().begin(), graph.gpus().end());
    std::ranges::shuffle(gpus, random_);
    if (chance(25)) gpus.resize(static_cast<size_t>(between(2, static_cast<int>(gpus.size()))));
    return gpus;
  }

 private:
  int64_t bandwidth() { return chance(20) ? between(1, 1'000'000'000) : between(1, 20); }

  void add_link(int from, int to, int64_t kBps) { links_.push_back({from, to, LinkClass::Pcie, 1, kBps}); }

  void add_cycle() {
    std::vector<int> order(nodes_.size());
    for (size_t i = 0; i != order.size(); ++i) order[i] = static_cast<int>(i);
    std::ranges::shuffle(order, random_);
    order.resize(static_cast<size_t>(between(2, static_cast<int>(order.size()))));
    const int64_t kBps = bandwidth();
    for (size_t i = 0; i != order.size(); ++i) add_link(order[i], order[(i + 1) % order.size()], kBps);
  }

  void add_single(bool balanced) {
    const int from = between(0, static_cast<int>(nodes_.size()) - 1);
    const int to = between(0, static_cast<int>(nodes_.size()) - 1);
    const auto is_gpu = [this](int node) { return nodes_[static_cast<size_t>(node)].kind == NodeKind::Gpu; };
    if (from != to && (!balanced || (is_gpu(from) && is_gpu(to)))) add_link(from, to, bandwidth());
  }

  std::vector<TopologyNode> nodes_;
  std::vector<TopologyLink> links_;
};

/// All cuts, by the set of nodes in S as bits.
class AllCuts {
 public:
  AllCuts(const TopologyGraph& graph, std::vector<int> gpus, std::span<const int64_t> kBps)
      : gpus_(std::move(gpus)), leaving_(size_t{1} << graph.nodes().size()) {
    for (const int gpu : gpus_) members_ |= bit(gpu);
    uint32_t left_out = 0;
    for (const int gpu : graph.gpus()) left_out |= bit(gpu) & ~members_;
    for (uint32_t inside = 0; inside != leaving_.size(); ++inside)
      for (size_t i = 0; i != kBps.size(); ++i) {
        const TopologyLink& link = graph.links()[i];
        const uint32_t ends = bit(link.from) | bit(link.to);
        if ((ends & left_out) == 0 && (inside & ends) == bit(link.from)) leaving_[inside] += kBps[i];
      }
  }

  Rational all_gather() const {
    return lowest([this](uint32_t inside) { return holds_all(inside) ? 0 : count(inside); });
  }
  Rational reduce_scatter() const {
    return lowest([this](uint32_t inside) { return count(inside) == 0 ? 0 : count(~inside); });
  }
  Rational broadcast(int root) const {
    return lowest([=, this](uint32_t inside) { return has(inside, root) && !holds_all(inside); });
  }
  Rational reduce(int root) const {
    return lowest([=, this](uint32_t inside) { return !has(inside, root) && count(inside) != 0; });
  }
  Rational gather(int root) const {
    return lowest([=, this](uint32_t inside) { return has(inside, root) ? 0 : count(inside); });
  }
  Rational scatter(int root) const {
    return lowest([=, this](uint32_t inside) { return has(inside, root) ? count(~inside) : 0; });
  }
  Rational all_to_all() const {
    return lowest([this](uint32_t inside) { return count(inside) * count(~inside); });
  }
  Rational scan() const {
    return lowest([this](uint32_t inside) {
      for (size_t i = 0; i + 1 < gpus_.size(); ++i)
        for (size_t j = i + 1; j < gpus_.size(); ++j)
          if ((inside & bit(gpus_[i])) != 0 && (inside & bit(gpus_[j])) == 0) return 1;
      return 0;
    });
  }
  Rational any() const {
    return lowest([this](uint32_t inside) { return count(inside) != 0 && !holds_all(inside); });
  }
  Rational all_reduce() const {
    const Rational a = all_gather(), b = reduce_scatter();
    if (a == 0 || b == 0) return 0;
    return Rational::rounded_up(
        2 * WideInteger{a.numerator()} * b.numerator(),
        WideInteger{a.numerator()} * b.denominator() + WideInteger{b.numerator()} * a.denominator());
  }

 private:
  static uint32_t bit(int node) { return uint32_t{1} << node; }
  int count(uint32_t inside) const { return std::popcount(inside & members_); }
  bool holds_all(uint32_t inside) const { return (inside & members_) == members_; }
  bool has(uint32_t inside, int root) const { return (inside & bit(gpus_[static_cast<size_t>(root)])) != 0; }

  template <typename Weight>
  Rational lowest(Weight weight) const {
    std::optional<Rational> lowest;
    for (uint32_t inside = 0; inside != leaving_.size(); ++inside) {
      const int divisor = weight(inside);
      if (divisor == 0) continue;
      const Rational ratio = *Rational::of(leaving_[inside], divisor);
      if (!lowest || ratio < *lowest) lowest = ratio;
    }
    return *lowest;
  }

  const std::vector<int> gpus_;
  uint32_t members_ = 0;
  std::vector<int64_t> leaving_;
};

using Bounds = std::map<CollectiveKind, Rational>;

Bounds expected_of(const AllCuts& cuts, int root) {
  return {{CollectiveKind::AllGather, cuts.all_gather()},
          {CollectiveKind::ReduceScatter, cuts.reduce_scatter()},
          {CollectiveKind::AllReduce, cuts.all_reduce()},
          {CollectiveKind::Broadcast, cuts.broadcast(root)},
          {CollectiveKind::Reduce, cuts.reduce(root)},
          {CollectiveKind::Gather, cuts.gather(root)},
          {CollectiveKind::Scatter, cuts.scatter(root)},
          {CollectiveKind::AllToAll, cuts.all_to_all()},
          {CollectiveKind::Scan, cuts.scan()},
          {CollectiveKind::Exscan, cuts.scan()}};
}

bool is_by_trees(CollectiveKind collective) {
  return collective == CollectiveKind::AllGather || collective == CollectiveKind::ReduceScatter ||
         collective == CollectiveKind::AllReduce || collective == CollectiveKind::Broadcast ||
         collective == CollectiveKind::Reduce;
}

/// Once the links that the bound names are taken away, nothing leads from the GPUs in S to the others.
void check_cut(const TopologyGraph& graph, std::span<const int> gpus, const BandwidthBound& bound) {
  REQUIRE(!bound.gpus_inside.empty());
  REQUIRE(bound.gpus_inside.size() < gpus.size());
  const UsableLinks usable = usable_links(graph, gpus);
  std::set<int> reached(bound.gpus_inside.begin(), bound.gpus_inside.end());
  for (size_t round = 0; round != graph.nodes().size(); ++round)
    for (size_t i = 0; i != graph.links().size(); ++i)
      if (usable.kBps[i] > 0 && reached.contains(graph.links()[i].from) &&
          !std::ranges::binary_search(bound.links, static_cast<int>(i)))
        reached.insert(graph.links()[i].to);
  const auto outside = std::ranges::count_if(gpus, [&](int gpu) { return !reached.contains(gpu); });
  CHECK(static_cast<size_t>(outside) + bound.gpus_inside.size() == gpus.size());
  if (bound.bus == bound.ceiling) CHECK((bound.x == 0) == bound.links.empty());
}

/// The capacity of the cut over the number of blocks that have to leave it is x.
void check_ratio(const TopologyGraph& graph, std::span<const int> gpus, const BandwidthBound& bound,
                 CollectiveKind collective) {
  int64_t capacity = 0;
  for (const int link : bound.links) capacity += graph.link(link).kBps;
  const auto inside = std::ssize(bound.gpus_inside);
  const int64_t outside = std::ssize(gpus) - inside;
  switch (collective) {
    case CollectiveKind::AllGather:
    case CollectiveKind::Gather: CHECK(bound.x == *Rational::of(capacity, inside)); break;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Scatter: CHECK(bound.x == *Rational::of(capacity, outside)); break;
    case CollectiveKind::AllToAll: CHECK(bound.x == *Rational::of(capacity, inside * outside)); break;
    case CollectiveKind::AllReduce: break;
    default: CHECK(bound.x == capacity);
  }
}

Rational times(Rational x, int64_t factor) {
  return Rational::rounded_up(WideInteger{x.numerator()} * factor, x.denominator());
}

bool is_by_blocks(CollectiveKind collective) {
  return traits(collective).has_blocks() || collective == CollectiveKind::AllReduce;
}

void check_bounds(const TopologyGraph& graph, std::vector<int> gpus, int root) {
  const UsableLinks links = usable_links(graph, gpus);
  UsableLinks trimmed = links;
  trim_switches(graph, trimmed);
  std::vector<int64_t> raw;
  for (const TopologyLink& link : graph.links()) raw.push_back(link.kBps);
  const AllCuts all_cuts(graph, gpus, raw);
  const Bounds by_cuts = expected_of(all_cuts, root);
  const Bounds by_shares = expected_of(AllCuts(graph, gpus, trimmed.kBps), root);
  for (const auto& [collective, x] : by_cuts) {
    CAPTURE(collective_name(collective));
    const auto result = bandwidth_bound(graph, gpus, collective, root);
    REQUIRE(result.status().message() == "");
    const BandwidthBound& bound = result.value();
    const bool trees = is_by_trees(collective);
    const int64_t blocks = is_by_blocks(collective) ? std::ssize(gpus) - 1 : 1;
    const bool nothing_left = trees && by_shares.at(collective) == 0;  // of equal shares
    CHECK(bound.x ==
          (trees && !nothing_left ? std::min(by_shares.at(collective), x) : x));  // rounded up, perhaps
    CHECK(bound.bus == times(bound.x, blocks));
    if (collective == CollectiveKind::AllReduce)
      CHECK(bound.ceiling <= times(*Rational::of(all_cuts.any().numerator() * 2, std::ssize(gpus)), blocks));
    else
      CHECK(bound.ceiling == times(trees ? x : bound.x, blocks));
    CHECK(bound.bus <= bound.ceiling);
    if (nothing_left && x > 0)
      CHECK(bound.kind == BoundKind::Cuts);
    else if (trees)
      CHECK(bound.kind == (bound.bus == bound.ceiling ? BoundKind::Exact : BoundKind::EqualShares));
    check_cut(graph, gpus, bound);
    if (bound.bus == bound.ceiling) check_ratio(graph, gpus, bound, collective);
  }
}

}  // namespace

TEST_CASE("bounds of 1,000 random graphs equal the lowest of all cuts") {
  CutGraphs random(test_seed(20261122));
  for (int number = 0; number != 1000; ++number) {
    CAPTURE(number);
    const TopologyGraph graph = random.graph(number % 2 == 0);
    const std::vector<int> gpus = random.some_gpus(graph);
    check_bounds(graph, gpus, random.between(0, static_cast<int>(gpus.size()) - 1));
  }
}

TEST_CASE("bounds of 500 random pairs and triples of hosts equal the lowest of all cuts") {
  CutGraphs random(test_seed(20261126));
  for (int number = 0; number != 500; ++number) {
    CAPTURE(number);
    const TopologyGraph graph = random.hosts();
    std::vector<int> gpus = random.some_gpus(graph);
    if (gpus.size() < 2) gpus.assign(graph.gpus().begin(), graph.gpus().end());
    check_bounds(graph, gpus, random.between(0, static_cast<int>(gpus.size()) - 1));
  }
}

TEST_CASE("with switches that combine, the bounds of 500 random graphs are the lowest of all cuts") {
  CutGraphs random(test_seed(20261123));
  int with_nvswitch = 0;
  for (int number = 0; number != 500; ++number) {
    CAPTURE(number);
    const TopologyGraph graph = random.graph(false);
    const std::vector<int> gpus = random.some_gpus(graph);
    const auto reduce = in_network_bound(graph, gpus, CollectiveKind::AllReduce);
    if (reduce.status().code() == Code::Unsupported) continue;
    ++with_nvswitch;
    std::vector<int64_t> raw;
    for (const TopologyLink& link : graph.links()) raw.push_back(link.kBps);
    const AllCuts cuts(graph, gpus, raw);
    CHECK(reduce.value().x == *Rational::of(2 * WideInteger{cuts.any().numerator()}, std::ssize(gpus)));
    CHECK(reduce.value().bus >= bandwidth_bound(graph, gpus, CollectiveKind::AllReduce).value().ceiling);
    CHECK(in_network_bound(graph, gpus, CollectiveKind::AllGather).value().x == cuts.all_gather());
  }
  CHECK(with_nvswitch > 100);
}

TEST_CASE("trimming balances every switch, takes nothing from balanced ones, and adds nothing") {
  CutGraphs random(test_seed(20261124));
  for (int number = 0; number != 1000; ++number) {
    CAPTURE(number);
    const bool balanced = number % 2 == 0;
    const TopologyGraph graph = random.graph(balanced);
    const UsableLinks links = usable_links(graph, graph.gpus());
    UsableLinks trimmed = links;
    const bool changed = trim_switches(graph, trimmed);
    CHECK(changed == (trimmed.kBps != links.kBps));
    if (balanced) CHECK(trimmed.kBps == links.kBps);
    std::vector<int64_t> balance(graph.nodes().size());
    for (size_t i = 0; i != links.kBps.size(); ++i) {
      CHECK(trimmed.kBps[i] >= 0);
      CHECK(trimmed.kBps[i] <= links.kBps[i]);
      CHECK((trimmed.trimmed_by[i] >= 0) == (trimmed.kBps[i] != links.kBps[i]));
      balance[static_cast<size_t>(graph.links()[i].to)] += trimmed.kBps[i];
      balance[static_cast<size_t>(graph.links()[i].from)] -= trimmed.kBps[i];
    }
    for (size_t node = 0; node != balance.size(); ++node)
      if (graph.nodes()[node].kind != NodeKind::Gpu) CHECK(balance[node] == 0);
  }
}
