// SPDX-License-Identifier: Apache-2.0
// Specific to the sim transport: seeded delays, lost ranks, slow links, and many ranks in one thread.
#include "transports/sim.h"
#include "ends.h"
#include "sim/network.h"

namespace rondo::test {
namespace {

const Transport& sim_transport() { return *transport_by_name("sim").value(); }

ConnectionParams delayed(int64_t delay_us, uint64_t seed = 7) {
  ConnectionParams params = small_params(10'000, 4);
  params.sim_delay_us = delay_us;
  params.sim_seed = seed;
  return params;
}

/// Nanoseconds from commit to arrival.
int64_t travel_ns(Connection& from, Connection& to, size_t bytes) {
  REQUIRE(eventually([&] { return from.acquire() != nullptr; }));
  const int64_t before_ns = now_ns();
  from.commit(bytes, {});
  REQUIRE(eventually([&] { return to.peek() != nullptr; }));
  const int64_t took_ns = now_ns() - before_ns;
  to.release();
  return took_ns;
}

TEST_CASE("sim: a message arrives after its seeded delay, not before") {
  const ConnectionParams params = delayed(3000);
  Ends ends = connect_ends(sim_transport(), params);
  for (uint64_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    REQUIRE(travel_ns(*ends.dialler, *ends.acceptor, 100) >= sim::delay_ns(params, ends.key, true, i));
    REQUIRE(travel_ns(*ends.acceptor, *ends.dialler, 100) >= sim::delay_ns(params, ends.key, false, i));
  }
}

std::vector<int64_t> delays(uint64_t seed, const ConnectionKey& key, bool from_dialler) {
  std::vector<int64_t> all;
  for (uint64_t i = 0; i < 50; ++i) all.push_back(sim::delay_ns(delayed(3000, seed), key, from_dialler, i));
  return all;
}

TEST_CASE("sim: delays depend on seed, ranks, port and direction only") {
  const ConnectionKey key = new_key();
  ConnectionKey other_session = key;
  ConnectionKey other_port = key;
  ConnectionKey other_rank = key;
  other_session.session += 12345;
  other_port.port += 1;
  other_rank.acceptor += 1;
  const auto usual = delays(1, key, true);
  REQUIRE(delays(1, other_session, true) == usual);
  REQUIRE(delays(2, key, true) != usual);
  REQUIRE(delays(1, key, false) != usual);
  REQUIRE(delays(1, other_port, true) != usual);
  REQUIRE(delays(1, other_rank, true) != usual);
  const auto [least, most] = std::minmax_element(usual.begin(), usual.end());
  REQUIRE(*least >= 0);
  REQUIRE(*most <= 3'000'000);
  REQUIRE(*most - *least > 2'000'000);
}

TEST_CASE("sim: a maximum delay of zero means no delay") {
  REQUIRE(sim::delay_ns(delayed(0), new_key(), true, 5) == 0);
}

TEST_CASE("sim: messages from or to a dropped rank vanish along with their slots") {
  const bool drop_dialler = GENERATE(true, false);
  Ends ends = connect_ends(sim_transport(), delayed(10));
  travel_ns(*ends.dialler, *ends.acceptor, 100);
  sim::drop_rank(ends.key.session, drop_dialler ? 0 : 1);
  for (uint64_t i = 0; i < 4; ++i) {
    REQUIRE(send_one(*ends.dialler, 10, 1, i));
    REQUIRE(send_one(*ends.acceptor, 10, 1, i));
  }
  REQUIRE(ends.dialler->acquire() == nullptr);
  const Deadline later = Deadline::in_ms(5);
  while (!later.passed()) {
    REQUIRE(ends.dialler->peek() == nullptr);
    REQUIRE(ends.acceptor->peek() == nullptr);
  }
}

TEST_CASE("sim: other ranks and other sessions do not notice a lost rank") {
  const ConnectionKey key = new_key(1, 2);
  Ends others = connect_ends(sim_transport(), delayed(10), true, key);
  Ends elsewhere = connect_ends(sim_transport(), delayed(10), true, new_key(0, 1));
  sim::drop_rank(key.session, 0);
  travel_ns(*others.dialler, *others.acceptor, 100);
  travel_ns(*elsewhere.dialler, *elsewhere.acceptor, 100);
}

TEST_CASE("sim: messages sent before a rank was lost still arrive") {
  Ends ends = connect_ends(sim_transport(), delayed(2000));
  REQUIRE(send_one(*ends.dialler, 10, 1, 0));
  sim::drop_rank(ends.key.session, 0);
  REQUIRE(eventually([&] { return ends.acceptor->peek() != nullptr; }));
}

TEST_CASE("sim: a healed session carries messages again") {
  Ends ends = connect_ends(sim_transport(), delayed(10));
  sim::drop_rank(ends.key.session, 0);
  sim::slow_link(ends.key.session, 0, 1, 1);
  sim::heal(ends.key.session);
  travel_ns(*ends.dialler, *ends.acceptor, 1000);
}

TEST_CASE("sim: messages on a slow link are serialized and take time in proportion to their bytes") {
  Ends ends = connect_ends(sim_transport(), delayed(0));
  sim::slow_link(ends.key.session, 1, 0, 1'000'000);
  const int64_t before_ns = now_ns();
  for (uint64_t i = 0; i < 3; ++i) REQUIRE(send_one(*ends.dialler, 5000, 1, i));
  for (uint64_t i = 1; i <= 3; ++i) {
    REQUIRE(eventually([&] { return ends.acceptor->peek() != nullptr; }));
    REQUIRE(now_ns() - before_ns >= static_cast<int64_t>(i) * 5'000'000);
    ends.acceptor->release();
  }
}

TEST_CASE("sim: connections of the same two ranks share their slow link") {
  const ConnectionKey key = new_key();
  ConnectionKey other = key;
  other.port = 1;
  Ends first = connect_ends(sim_transport(), delayed(0), true, key);
  Ends second = connect_ends(sim_transport(), delayed(0), true, other);
  sim::slow_link(key.session, 0, 1, 1'000'000);
  const int64_t before_ns = now_ns();
  REQUIRE(send_one(*first.dialler, 5000, 1, 0));
  REQUIRE(send_one(*second.dialler, 5000, 1, 0));
  REQUIRE(eventually([&] { return second.acceptor->peek() != nullptr; }));
  REQUIRE(now_ns() - before_ns >= 10'000'000);
}

TEST_CASE("sim: sixty-four ranks in one thread") {
  constexpr int kRanks = 64;
  const uint64_t session = new_key().session;
  std::vector<Ends> ring;
  for (int rank = 0; rank < kRanks; ++rank) {
    const int next = (rank + 1) % kRanks;
    const ConnectionKey key{
        .session = session, .dialler = std::min(rank, next), .acceptor = std::max(rank, next)};
    ring.push_back(connect_ends(sim_transport(), delayed(200), rank % 3 == 0, key));
  }
  REQUIRE(converse_together(ring, {.messages = 50}) == "");
}

}  // namespace
}  // namespace rondo::test
