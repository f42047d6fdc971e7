// Which algorithm carries a call, by what messages cost between its ranks.
#include "comm/selector.h"

#include <string>

#include "catch.h"

using namespace rondo;

namespace {

constexpr size_t kSlotBytes = size_t{64} * 1024;
constexpr size_t kNetworkSlotBytes = size_t{256} * 1024;

/// Ranks that have a CPU each, and lie on one host.
constexpr LinkCost kShared{.latency_us = 0.15,
                           .us_per_byte = 4.5e-5,
                           .us_per_message = 0.05,
                           .us_per_folded_byte = 3.5e-5,
                           .one_way = 0.5};
/// Ranks on hosts of their own.
constexpr LinkCost kNetwork{.latency_us = 15, .us_per_byte = 5e-4, .us_per_message = 4};

/// Ranks of one host, four to a CPU, over connections of which the kernel does the work.
constexpr LinkCost kCrowdedNetwork{.latency_us = 1,
                                   .us_per_byte = 1.6e-4,
                                   .us_per_message = 6,
                                   .us_per_folded_byte = 0.8e-4,
                                   .one_way = 0.5,
                                   .ranks_per_cpu = 4,
                                   .us_per_cold_byte = 2e-4,
                                   .cached_bytes = 2 << 20,
                                   .runs_ahead = true};

const Algorithm& choice(CollectiveKind kind, size_t bytes, const Links& links,
                        size_t slot_bytes = kSlotBytes) {
  const Selector selector = Selector::parse("").take();
  Call call;
  call.kind = kind;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  call.count = bytes / call.type.bytes;
  auto decision = selector.select(call, links, slot_bytes, {});
  INFO(decision.status().message());
  REQUIRE(decision.ok());
  return *decision.value().algorithm;
}

const Algorithm& choice(CollectiveKind kind, int nranks, size_t bytes, const LinkCost& cost,
                        size_t slot_bytes = kSlotBytes) {
  return choice(kind, bytes, {nranks, cost}, slot_bytes);
}

Cost cost_of(const Algorithm& algorithm, CollectiveKind kind, int nranks) {
  return algorithm.cost({.kind = kind, .nranks = nranks});
}

TEST_CASE("a short broadcast takes few rounds, a long one is pipelined") {
  for (const LinkCost& cost : {kShared, kNetwork}) {
    const Algorithm& small = choice(CollectiveKind::Broadcast, 16, 8, cost);
    const Algorithm& large = choice(CollectiveKind::Broadcast, 16, size_t{64} << 20, cost);
    INFO(small.name << ", " << large.name);
    CHECK(cost_of(small, CollectiveKind::Broadcast, 16).rounds <= 4);
    CHECK(cost_of(large, CollectiveKind::Broadcast, 16).steady == 1);
  }
}

TEST_CASE("a short all_reduce takes few rounds, a long one moves as little as can be") {
  for (const LinkCost& cost : {kShared, kNetwork}) {
    const Algorithm& small = choice(CollectiveKind::AllReduce, 16, 8, cost);
    const Algorithm& large = choice(CollectiveKind::AllReduce, 16, size_t{64} << 20, cost);
    INFO(small.name << ", " << large.name);
    CHECK(cost_of(small, CollectiveKind::AllReduce, 16).rounds <= 4);
    CHECK(cost_of(large, CollectiveKind::AllReduce, 16).volume == 2 * 15.0 / 16);
  }
}

TEST_CASE("vectors that stay in no cache go to one neighbour and not to all at once") {
  const auto named = [](CollectiveKind kind, size_t bytes) {
    return std::string_view(choice(kind, 8, bytes, kCrowdedNetwork, kNetworkSlotBytes).name);
  };
  constexpr size_t kShort = 64, kLong = size_t{1} << 20;  // of a rank's input
  CHECK(named(CollectiveKind::AllReduce, kLong) == "ring");
  CHECK(named(CollectiveKind::AllGather, kLong) == "ring");
  CHECK(named(CollectiveKind::Reduce, kLong) == "chain");
  CHECK(named(CollectiveKind::AllToAll, kLong) == "pairwise");
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather})
    CHECK(cost_of(choice(kind, 8, kShort, kCrowdedNetwork, kNetworkSlotBytes), kind, 8).rounds <= 3);
  CHECK(named(CollectiveKind::Reduce, kShort) == "flat");
}

TEST_CASE("a root that waits for nobody sends short messages to few and long ones to their receivers") {
  for (const size_t bytes : {size_t{8}, size_t{4096}})
    CHECK(std::string_view(
              choice(CollectiveKind::Broadcast, 8, bytes, kCrowdedNetwork, kNetworkSlotBytes).name) ==
          "binomial");
  const auto scatter = [](size_t bytes) {
    return std::string_view(
        choice(CollectiveKind::Scatter, 8, bytes, kCrowdedNetwork, kNetworkSlotBytes).name);
  };
  CHECK(scatter(8) == "binomial");
  CHECK(scatter(32768) == "linear");
}

TEST_CASE("ranks that share CPUs choose what is least work for all of them") {
  LinkCost crowded = kShared;
  crowded.latency_us = 0.7 * 16;
  crowded.ranks_per_cpu = 8;
  const Algorithm& small = choice(CollectiveKind::AllReduce, 16, 1024, crowded);
  CHECK(cost_of(small, CollectiveKind::AllReduce, 16).rounds <= 2);
  const Algorithm& large = choice(CollectiveKind::AllReduce, 16, size_t{64} << 20, crowded);
  const Cost cost = cost_of(large, CollectiveKind::AllReduce, 16);
  CHECK((cost.mean.volume != 0 ? cost.mean.folds : cost.folds) == 15.0 / 16);
}

TEST_CASE("between hosts, a call goes far as seldom as can be, and with as little") {
  const Links hosts{.nranks = 16, .cost = kNetwork, .group = 4, .near_cost = kShared};
  const auto name = [&hosts](CollectiveKind kind, size_t bytes) {
    return std::string(choice(kind, bytes, hosts).name);
  };
  constexpr size_t kLong = size_t{64} << 20;
  CHECK(name(CollectiveKind::AllReduce, 8) == "leaders");
  CHECK(name(CollectiveKind::AllReduce, kLong) == "hierarchical");
  CHECK(name(CollectiveKind::Barrier, 0) == "leaders");
  for (const size_t bytes : {size_t{8}, kLong / 16}) {
    CHECK(name(CollectiveKind::AllGather, bytes) == "hierarchical");
    CHECK(name(CollectiveKind::ReduceScatter, bytes) == "hierarchical");
  }
}

TEST_CASE("where ranks are in no groups, no algorithm of groups is chosen") {
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                    CollectiveKind::ReduceScatter, CollectiveKind::Barrier})
    for (const size_t bytes : {size_t{8}, size_t{1} << 20})
      CHECK_FALSE(choice(kind, 16, kind == CollectiveKind::Barrier ? 0 : bytes, kNetwork).for_groups);
}

}  // namespace
