// SPDX-License-Identifier: Apache-2.0
// The simulator on links that connections share.
#include <cmath>

#include "catch.h"
#include "schedule/simulator.h"
#include "shapes.h"

using namespace rondo;

namespace {

struct Flow {
  int from;
  int to;
  int chunks;  // of a byte each
  std::vector<SimulatedLinkUse> uses;
};

/// Seconds until the last of some messages has arrived, each sent at once on a connection of its own.
double seconds(int nranks, const std::vector<Flow>& flows, SimulatedNetwork network, int tiles = 1) {
  const Shape shape{CollectiveKind::AllReduce, nranks};
  const int parts = 100;
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < nranks; ++rank) ranks.emplace_back(shape, rank, parts);
  for (size_t lane = 0; lane < flows.size(); ++lane) {
    const Flow& flow = flows[lane];
    for (Schedule& schedule : ranks) {
      schedule.slot_chunks = parts;
      schedule.lanes.resize(lane + 1);
      schedule.lanes[lane].port = static_cast<uint16_t>(lane);
      if (schedule.rank == flow.from)
        schedule.add(static_cast<int>(lane), {.src = input(0), .send = {flow.to}, .count = flow.chunks});
      if (schedule.rank == flow.to)
        schedule.add(static_cast<int>(lane), {.recv = {flow.from}, .dst = output(0), .count = flow.chunks});
    }
  }
  network.route = [&](int from, int to, int port) {
    const Flow& flow = flows[static_cast<size_t>(port)];
    CHECK(flow.from == from);
    CHECK(flow.to == to);
    return flow.uses;
  };
  const auto time = simulate(shape, ranks, parts * tiles, tiles, network);
  REQUIRE(time.status().message() == "");
  return time.value();
}

void check_time(double found, double expected) {
  INFO(found << " instead of " << expected);
  CHECK(std::abs(found - expected) <= 1e-9 * expected);
}

}  // namespace

TEST_CASE("a message takes the time of the narrowest link that it crosses") {
  check_time(seconds(2, {{0, 1, 60, {{0}, {1}}}}, {.latency_s = 0.5, .links = {10, 3}}), 20.5);
  check_time(seconds(2, {{0, 1, 60, {{0, 0.25}, {1, 0.75}}}}, {.links = {10, 3}}), 15);
}

TEST_CASE("connections share a link equally, and what one leaves is for the others") {
  // Both at 5 for 6 s; then 30 bytes are left of the second.
  check_time(seconds(3, {{0, 1, 30, {{0}}}, {0, 2, 60, {{0}}}}, {.links = {10}}), 9);
  // The first is held to 2 by link 1, so the second has 8 for 5 s.
  check_time(seconds(3, {{0, 1, 10, {{0}, {1}}}, {0, 2, 50, {{0}}}}, {.links = {10, 2}}), 6);
  check_time(seconds(3, {{0, 1, 10, {{0}, {1}}}, {0, 2, 40, {{0}}}}, {.links = {10, 2}}), 5);
  // The second sends half its bytes by each link: rates r and r of link 0, then link 0 is full at 20 / 3.
  check_time(seconds(3, {{0, 1, 20, {{0}}}, {0, 2, 20, {{0, 0.5}, {1, 0.5}}}}, {.links = {10, 10}}), 3);
}

TEST_CASE("a connection sends one message at a time, and no more than its slots hold") {
  const std::vector<Flow> one = {{0, 1, 10, {{0}}}};
  check_time(seconds(2, one, {.links = {10}}, 5), 5);
  check_time(seconds(2, one, {.latency_s = 1, .slots = 1, .links = {10}}, 5), 10);
  check_time(seconds(2, one, {.latency_s = 1, .slots = 2, .links = {10}}, 5), 6);
}

TEST_CASE("each message says which Step sent it, and when it left and arrived") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllGather, "ring").value();
  const Shape shape{CollectiveKind::AllGather, 3};
  const auto ranks = build_all(ring, shape);
  SimulatedNetwork links{.latency_s = 1, .links = {2, 2, 1}};  // that of rank 2 takes twice as long
  links.route = [](int from, int, int) { return std::vector<SimulatedLinkUse>{{from}}; };
  const SimulatedNetwork ports{.latency_s = 1, .bandwidth_bytes_per_s = 2};
  for (const SimulatedNetwork* network : std::initializer_list<const SimulatedNetwork*>{&ports, &links}) {
    std::vector<SimulatedTransfer> transfers;
    const auto time = simulate(shape, ranks, 24, 2, *network, &transfers);
    REQUIRE(time.ok());
    CHECK(transfers.size() == 3 * 2 * 2);
    double latest = 0;
    for (const SimulatedTransfer& one : transfers) {
      CHECK(one.to == (one.from + 1) % 3);
      CHECK(one.bytes == 4);
      const Schedule& sender = ranks[static_cast<size_t>(one.from)];
      CHECK(sender.lanes[static_cast<size_t>(one.lane)].steps[static_cast<size_t>(one.step)].has(kSend));
      CHECK(one.ends - one.begins == Approx(network == &links && one.from == 2 ? 4 : 2));
      CHECK(one.arrives == one.ends + 1);
      CHECK((one.tile == 0 || one.tile == 1));
      if (one.step == 0 && one.tile == 0) CHECK(one.begins == 0);
      latest = std::max(latest, one.arrives);
    }
    CHECK(latest == time.value());
  }
}

TEST_CASE("messages without bytes take no time but latency") {
  const SimulatedNetwork network{.latency_s = 3, .links = {10, 10}, .route = [](int from, int, int) {
                                   return std::vector<SimulatedLinkUse>{{from}};
                                 }};
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllGather, "ring").value();
  const Shape shape{CollectiveKind::AllGather, 2};
  const auto time = simulate(shape, build_all(ring, shape), 0, 4, network);
  REQUIRE(time.ok());
  CHECK(time.value() >= 3);
  CHECK(time.value() <= 12);
}

TEST_CASE("with links of its own for each rank's port, a ring takes as long as on ports") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllGather, "ring").value();
  for (int n : {2, 3, 8}) {
    CAPTURE(n);
    const Shape shape{CollectiveKind::AllGather, n};
    const auto ranks = build_all(ring, shape);
    SimulatedNetwork links{.latency_s = 3e-6, .links = std::vector<double>(2 * static_cast<size_t>(n), 2e9)};
    links.route = [n](int from, int to, int) { return std::vector<SimulatedLinkUse>{{from}, {n + to}}; };
    const SimulatedNetwork ports{.latency_s = 3e-6, .bandwidth_bytes_per_s = 2e9};
    const auto by_links = simulate(shape, ranks, 1e6, 4, links),
               by_ports = simulate(shape, ranks, 1e6, 4, ports);
    REQUIRE(by_links.ok());
    check_time(by_links.value(), by_ports.value());
  }
}

TEST_CASE("the simulator refuses links without routes or bandwidth") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllGather, "ring").value();
  const Shape shape{CollectiveKind::AllGather, 2};
  const auto ranks = build_all(ring, shape);
  CHECK(simulate(shape, ranks, 1, 1, {.links = {1}}).status().message() ==
        "network.links is set, network.route is not");
  const auto route = [](int, int, int) { return std::vector<SimulatedLinkUse>{{0}}; };
  CHECK(simulate(shape, ranks, 1, 1, {.links = {1, 0}, .route = route}).status().message() ==
        "network.links has 0 bytes per second: expected more than 0");
}

TEST_CASE("the simulator names the connection that has no route") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllGather, "ring").value();
  const Shape shape{CollectiveKind::AllGather, 3};
  for (const std::vector<SimulatedLinkUse>& uses :
       {std::vector<SimulatedLinkUse>{}, {{2, 1}}, {{-1, 1}}, {{0, 0}}, {{0, -1}}}) {
    const SimulatedNetwork network{.links = {1, 1}, .route = [&](int, int, int) { return uses; }};
    const auto time = simulate(shape, build_all(ring, shape), 1, 1, network);
    REQUIRE_FALSE(time.ok());
    CHECK(time.status().code() == Code::InvalidArgument);
    CHECK(time.status().message() == "no route of known links from rank 0 to rank 1 by port 0");
  }
}
