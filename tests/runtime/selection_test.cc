// SPDX-License-Identifier: Apache-2.0
// Which algorithm is selected for a call, given the cost of messages between its ranks.
#include "plan/selector.h"

#include <string>

#include "catch.h"
#include "plan/connection_costs.h"
#include "plan/preference.h"
#include "plan/pull_costs.h"

using namespace rondo;

namespace {

constexpr size_t kSlotBytes = size_t{64} * 1024;
constexpr size_t kNetworkSlotBytes = size_t{256} * 1024;

/// Ranks of one host, each with its own CPU.
constexpr LinkCost kShared{.latency_us = 0.15,
                           .us_per_byte = 4.5e-5,
                           .us_per_message = 0.05,
                           .us_per_folded_byte = 3.5e-5,
                           .one_way = 0.5};
/// Ranks on separate hosts.
constexpr LinkCost kNetwork{.latency_us = 15, .us_per_byte = 5e-4, .us_per_message = 4};

/// Ranks of one host, four per CPU, over connections driven by the kernel.
constexpr LinkCost kCrowdedNetwork{.latency_us = 1,
                                   .us_per_byte = 1.6e-4,
                                   .us_per_message = 6,
                                   .us_per_folded_byte = 0.8e-4,
                                   .one_way = 0.5,
                                   .ranks_per_cpu = 4,
                                   .us_per_cold_byte = 2e-4,
                                   .cached_bytes = 2 << 20,
                                   .runs_ahead = true};

const Algorithm& choice(CollectiveKind kind, size_t bytes, const LinkModel& links,
                        size_t slot_bytes = kSlotBytes) {
  const Selector selector = Selector::parse("").take();
  Call call;
  call.kind = kind;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  call.count = bytes / call.type.bytes;
  const Executor connections{.name = "connections",
                             .predict = [&](const Algorithm& algorithm, const Call& of, const Shape& shape) {
                               return predict_over_connections(algorithm, of, shape, links, slot_bytes);
                             }};
  auto chosen = selector.select(call, links.shape(call), {&connections, 1});
  INFO(chosen.status().message());
  REQUIRE(chosen.ok());
  return *chosen.value().algorithm;
}

const Algorithm& choice(CollectiveKind kind, int nranks, size_t bytes, const LinkCost& cost,
                        size_t slot_bytes = kSlotBytes) {
  return choice(kind, bytes, {.nranks = nranks, .cost = cost}, slot_bytes);
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

TEST_CASE("a short all_reduce takes few rounds, a long one moves the minimum of data") {
  for (const LinkCost& cost : {kShared, kNetwork}) {
    const Algorithm& small = choice(CollectiveKind::AllReduce, 16, 8, cost);
    const Algorithm& large = choice(CollectiveKind::AllReduce, 16, size_t{64} << 20, cost);
    INFO(small.name << ", " << large.name);
    CHECK(cost_of(small, CollectiveKind::AllReduce, 16).rounds <= 4);
    CHECK(cost_of(large, CollectiveKind::AllReduce, 16).volume == 2 * 15.0 / 16);
  }
}

TEST_CASE("vectors that fit no cache go to one neighbour and not to all at once") {
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

TEST_CASE("a root that does not wait sends short messages along a tree and long ones directly") {
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

TEST_CASE("oversubscribed ranks choose the algorithm with the least total work") {
  LinkCost oversubscribed = kShared;
  oversubscribed.latency_us = 0.7 * 16;
  oversubscribed.ranks_per_cpu = 8;
  const Algorithm& small = choice(CollectiveKind::AllReduce, 16, 1024, oversubscribed);
  CHECK(cost_of(small, CollectiveKind::AllReduce, 16).rounds <= 2);
  const Algorithm& large = choice(CollectiveKind::AllReduce, 16, size_t{64} << 20, oversubscribed);
  const Cost cost = cost_of(large, CollectiveKind::AllReduce, 16);
  CHECK((cost.mean.volume != 0 ? cost.mean.folds : cost.folds) == 15.0 / 16);
}

TEST_CASE("between hosts, a call crosses the network as rarely and with as little data as possible") {
  const LinkModel hosts{.nranks = 16, .cost = kNetwork, .levels = 4, .inner_costs = {kShared}};
  const auto name = [&hosts](CollectiveKind kind, size_t bytes) {
    return std::string(choice(kind, bytes, hosts).name);
  };
  constexpr size_t kLong = size_t{64} << 20;
  CHECK(name(CollectiveKind::AllReduce, 8) == "leaders");
  CHECK(name(CollectiveKind::AllReduce, kLong) == "hierarchical_ring");
  CHECK(name(CollectiveKind::Barrier, 0) == "leaders");
  for (const size_t bytes : {size_t{8}, kLong / 16}) {
    CHECK(name(CollectiveKind::AllGather, bytes) == "hierarchical");
    CHECK(name(CollectiveKind::ReduceScatter, bytes) == "hierarchical");
  }
}

/// Of 8 ranks each.
std::string choice_on_hosts(int hosts, CollectiveKind kind, size_t bytes) {
  const LinkModel links{
      .nranks = 8 * hosts, .hosts = hosts, .cost = kNetwork, .levels = 8, .inner_costs = {kShared}};
  return choice(kind, bytes, links).name;
}

TEST_CASE(
    "hosts are a level; between few of them ranks are connected directly or around, between many by trees") {
  constexpr auto kKind = CollectiveKind::AllReduce;
  constexpr size_t kMedium = size_t{2} << 20, kLong = size_t{1} << 30;
  for (const int hosts : {2, 4, 8}) {
    CAPTURE(hosts);
    CHECK(choice_on_hosts(hosts, kKind, 8) == "leaders");
    CHECK(choice_on_hosts(hosts, kKind, size_t{64} << 10) == "hierarchical_doubling");
    CHECK(choice_on_hosts(hosts, kKind, kMedium) ==
          (hosts == 2 ? "hierarchical_doubling" : "hierarchical_ring"));
  }
  for (const int hosts : {17, 32, 64}) {
    CAPTURE(hosts);
    CHECK(choice_on_hosts(hosts, kKind, 8) == "hierarchical_doubling");
    CHECK(choice_on_hosts(hosts, kKind, kMedium) == "hierarchical_tree");
    CHECK(choice_on_hosts(hosts, kKind, kLong) == "hierarchical_tree");
    CHECK(choice_on_hosts(hosts, CollectiveKind::AllGather, 8) == "hierarchical_doubling");
    CHECK(choice_on_hosts(hosts, CollectiveKind::ReduceScatter, 8) == "hierarchical_halving");
    CHECK(choice_on_hosts(hosts, CollectiveKind::Broadcast, kMedium) == "hierarchical_tree");
    CHECK(choice_on_hosts(hosts, CollectiveKind::Reduce, kMedium) == "hierarchical_tree");
    CHECK(choice_on_hosts(hosts, CollectiveKind::Barrier, 0) == "leaders_dissemination");
  }
  CHECK(choice_on_hosts(1024, kKind, 8) == "hierarchical_doubling");
  CHECK(choice_on_hosts(1024, kKind, kLong) == "hierarchical_tree");
}

TEST_CASE("between many hosts a rank connects with all others if nothing else can make the call") {
  const LinkModel links{.nranks = 100, .hosts = 100, .cost = kNetwork};
  Shape shape{.kind = CollectiveKind::ReduceScatter, .nranks = 100, .commutative = false};
  Call call;
  call.kind = shape.kind;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  call.count = 100;
  size_t slot_bytes = kSlotBytes;
  const Executor connections{.name = "connections",
                             .predict = [&](const Algorithm& algorithm, const Call& of, const Shape& in) {
                               return predict_over_connections(algorithm, of, in, links, slot_bytes);
                             }};
  const auto name = [&](size_t bytes_of_slot = kSlotBytes) {
    slot_bytes = bytes_of_slot;
    return std::string(
        Selector::parse("").take().select(call, shape, {&connections, 1}).take().algorithm->name);
  };
  CHECK(name() == "direct");
  shape.commutative = true;
  CHECK(name() == "recursive_halving");
  // Also if the others cannot because a slot has no room for their messages.
  shape.kind = call.kind = CollectiveKind::Gather;
  CHECK(name(64) == "linear");
}

TEST_CASE("without groups, no group algorithm is chosen") {
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                    CollectiveKind::ReduceScatter, CollectiveKind::Barrier})
    for (const size_t bytes : {size_t{8}, size_t{1} << 20})
      CHECK_FALSE(choice(kind, 16, kind == CollectiveKind::Barrier ? 0 : bytes, kNetwork).for_groups);
}

TEST_CASE("a rule for an executor on one kind of memory leaves calls on the other alone") {
  const auto predict = [](const Algorithm&, const Call&, const Shape&) { return Prediction{.us = 1}; };
  const std::vector<Executor> executors{{.name = "connections", .predict = predict},
                                        {.name = "gpu_direct", .on_gpu = true},
                                        {.name = "gpu_connections", .on_gpu = true, .predict = predict}};
  const auto chosen = [&](const char* rule, bool on_gpu) {
    const Selector selector = Selector::parse(rule).take();
    Call call;
    call.kind = CollectiveKind::AllReduce;
    call.type = CallType::of(ElementType::Float32);
    call.op = CallOp::of(Reduction::Sum);
    call.count = 8;
    call.place.on_gpu = on_gpu;
    return name_of(selector.select(call, call.shape(4), executors).take());
  };
  for (const bool on_gpu : {false, true})
    CHECK(chosen(on_gpu ? "all_reduce=two_shot@connections" : "all_reduce=ring@gpu_connections", on_gpu) ==
          chosen("", on_gpu));
  CHECK(chosen("all_reduce=ring@connections", false) == "ring@connections");
  CHECK(chosen("all_reduce=ring@gpu_connections", true) == "ring@gpu_connections");
}

TEST_CASE("what can be pulled is, whatever the predicted times") {
  const auto slow = [](const Algorithm&, const Call&, const Shape&) { return Prediction{.us = 100}; };
  const auto fast = [](const Algorithm&, const Call&, const Shape&) { return Prediction{.us = 1}; };
  std::string_view obstacle;
  const Executor pull{
      .name = "shm_pull", .obstacle = [&](const Call&, const Shape&) { return obstacle; }, .predict = slow};
  const Executor connections{.name = "connections", .predict = fast};
  Call call;
  call.kind = CollectiveKind::AllGather;
  call.type = CallType::of(ElementType::Float32);
  call.count = 8;
  const Selector selector = Selector::parse("").take();
  for (std::vector<Executor> executors : {std::vector{pull, connections}, std::vector{connections, pull}}) {
    put_in_order(executors);
    obstacle = "";
    CHECK(name_of(selector.select(call, call.shape(4), executors).take()) == "ring@shm_pull");
    obstacle = "it is too long";
    CHECK(name_of(selector.select(call, call.shape(4), executors).take()) == "ring@connections");
  }
}

TEST_CASE("a _v form by shm_pull is refused with the reason") {
  const Executor pull = shm_pull_row({.requested_bytes = {}, .cost = pull_cost(CostTable(), 4, 1)});
  Call call;
  call.kind = CollectiveKind::AllGather;
  call.type = CallType::of(ElementType::Float32);
  call.varying = true;
  call.recv_blocks.counts = {1, 1, 1, 1};
  for (const std::string choice : {"@shm_pull", "direct@shm_pull"}) {
    const Selector selector = Selector::parse("all_gather=" + choice).take();
    const auto refused = selector.select(call, call.shape(4), {&pull, 1});
    REQUIRE(refused.status().code() == Code::Unsupported);
    CHECK(refused.status().message() ==
          "all_gather by " + choice +
              " was requested, but it cannot do this call: it takes no _v form, whose blocks may have "
              "different lengths");
  }
}

TEST_CASE("what two ranks exchange goes over connections from 1 KiB on where lines move, unless requested") {
  const auto with = [](bool lines_move, std::optional<size_t> requested_bytes, double ranks_per_cpu) {
    return shm_pull_row({.requested_bytes = requested_bytes,
                         .cost = pull_cost(CostTable(), 2, ranks_per_cpu),
                         .lines_move = lines_move});
  };
  const auto predict = [](const Algorithm&, const Call&, const Shape&) { return Prediction{.us = 1}; };
  const Executor connections{.name = "connections", .predict = predict};
  const auto chosen = [&](const Executor& pull, CollectiveKind kind, size_t bytes, int nranks,
                          const char* rules = "") {
    Call call;
    call.kind = kind;
    call.type = CallType::of(ElementType::Float32);
    call.count =
        bytes / sizeof(float) / (kind == CollectiveKind::AllGather ? static_cast<size_t>(nranks) : 1);
    const std::vector<Executor> both{pull, connections};
    const auto made = Selector::parse(rules).take().select(call, call.shape(nranks), both);
    REQUIRE(made.ok());
    return std::string(made.value().executor->name);
  };
  using enum CollectiveKind;
  const Executor moving = with(true, {}, 1);
  CHECK(chosen(moving, AllReduce, 1020, 2) == "shm_pull");
  CHECK(chosen(moving, AllReduce, 1024, 2) == "connections");
  CHECK(chosen(moving, AllGather, 2040, 2) == "shm_pull");
  CHECK(chosen(moving, AllGather, 2048, 2) == "connections");
  CHECK(chosen(moving, AllReduce, 1024, 3) == "shm_pull");
  CHECK(chosen(moving, Broadcast, 16 * 1024, 2) == "shm_pull");
  CHECK(chosen(moving, AllReduce, 4096, 2, "all_reduce=@shm_pull") == "shm_pull");
  CHECK(chosen(moving, AllReduce, 4096, 2, "all_reduce=one_shot@shm_pull") == "shm_pull");
  CHECK(chosen(moving, AllReduce, 4096, 2, "all_reduce=one_shot") == "connections");
  CHECK(chosen(with(false, {}, 1), AllReduce, 4096, 2) == "shm_pull");
  CHECK(chosen(with(true, size_t{8192}, 1), AllReduce, 4096, 2) == "shm_pull");
  CHECK(chosen(with(true, {}, 2), AllReduce, 4096, 2) == "shm_pull");
}

TEST_CASE("two rules for one collective are refused, with its name") {
  for (const char* rules :
       {"all_reduce=ring;barrier=flat;all_reduce=ring", "all_reduce=ring;all_reduce=@connections"}) {
    const Status refused = Selector::parse(rules).status();
    CHECK(refused.code() == Code::InvalidArgument);
    CHECK(refused.message().find("all_reduce is named twice") != std::string::npos);
  }
}

}  // namespace
