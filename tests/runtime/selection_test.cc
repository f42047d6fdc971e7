// Which algorithm carries a call, by what messages cost between its ranks.
#include "comm/selector.h"

#include <string>

#include "catch.h"

using namespace rondo;

namespace {

constexpr size_t kSlotBytes = size_t{64} * 1024;

/// Ranks that have a CPU each, and lie on one host.
constexpr LinkCost kShared{.latency_us = 0.15,
                           .us_per_byte = 4.5e-5,
                           .us_per_message = 0.05,
                           .us_per_folded_byte = 3.5e-5,
                           .one_way = 0.5};
/// Ranks on hosts of their own.
constexpr LinkCost kNetwork{.latency_us = 15, .us_per_byte = 5e-4, .us_per_message = 4};

const Algorithm& choice(CollectiveKind kind, size_t bytes, const Links& links) {
  const Selector selector = Selector::parse("").take();
  const Call call = PlainCall{.kind = kind,
                              .count = bytes / sizeof(float),
                              .type = static_cast<int>(ElementType::Float32),
                              .op = static_cast<int>(Reduction::Sum)}
                        .call();
  auto decision = selector.select(call, links, kSlotBytes, {});
  INFO(decision.status().message());
  REQUIRE(decision.ok());
  return *decision.value().algorithm;
}

const Algorithm& choice(CollectiveKind kind, int nranks, size_t bytes, const LinkCost& cost) {
  return choice(kind, bytes, {nranks, cost});
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
