// SPDX-License-Identifier: Apache-2.0
// Parts of slots' memory that change sides.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "catch.h"
#include "ends.h"
#include "seed.h"
#include "shm/moving_parts.h"
#include "traffic.h"

namespace rondo::test {
namespace {

constexpr size_t kAnswer = 4096;

ConnectionParams moving_params(int slots) {
  ConnectionParams params = small_params(64 * 1024, slots);
  params.read_peer = ReadPeer::Never;
  return params;
}

/// One way of a conversation: the connection over which an end sends, and the one over which its peer
/// receives.
struct Direction {
  Connection& from;
  Connection& to;
  uint64_t seed;
  uint64_t sent = 0;
  uint64_t received = 0;

  bool send(size_t bytes) {
    if (!send_one(from, bytes, seed, sent)) return false;
    ++sent;
    return true;
  }
  /// Where the message was.
  const std::byte* receive(size_t bytes) {
    const Arrival* const arrival = to.peek();
    REQUIRE(arrival != nullptr);
    REQUIRE(fault(*arrival, bytes, seed, received++) == "");
    const std::byte* const at = arrival->data;
    to.release();
    return at;
  }
};

/// How many places of this process the messages of a conversation were at.
size_t places_of(Direction& one, Direction& other, int messages) {
  std::set<const std::byte*> places;
  for (int i = 0; i < messages; ++i) {
    REQUIRE(one.send(kAnswer));
    places.insert(one.receive(kAnswer));
    REQUIRE(other.send(kAnswer));
    places.insert(other.receive(kAnswer));
  }
  return places.size();
}

TEST_CASE("an answer lies where the message was that it answers") {
  const Ends ends = connect_ends(shm_transport(), moving_params(16));
  ends.acceptor->peek();
  Direction there{*ends.dialler, *ends.acceptor, 1};
  Direction back{*ends.acceptor, *ends.dialler, 2};
  places_of(there, back, 4);
  REQUIRE(places_of(there, back, 100) == 2);  // one part, as each of the two ends maps it
}

TEST_CASE("answers over another connection lie there as well, once both ends know of it") {
  const Ends one = connect_ends(shm_transport(), moving_params(16));
  const Ends other = connect_ends(shm_transport(), moving_params(16));
  Direction there{*one.dialler, *one.acceptor, 1};
  Direction back{*other.dialler, *other.acceptor, 2};
  one.acceptor->peek();
  other.acceptor->peek();
  const size_t apart = places_of(there, back, 50);
  REQUIRE(apart > 2);
  one.dialler->answer(*other.acceptor);
  REQUIRE(places_of(there, back, 50) > 2);
  other.dialler->answer(*one.acceptor);
  places_of(there, back, 4);
  REQUIRE(places_of(there, back, 100) == 2);
}

TEST_CASE("messages without an answer are in parts of the sender's, which stay there") {
  const Ends ends = connect_ends(shm_transport(), moving_params(4));
  ends.acceptor->peek();
  Direction there{*ends.dialler, *ends.acceptor, 1};
  std::set<const std::byte*> places;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(there.send(i % 2 == 0 ? kAnswer : 64 * 1024));
    places.insert(there.receive(i % 2 == 0 ? kAnswer : 64 * 1024));
  }
  const std::byte* const slot = ends.acceptor->acquire(kAnswer);
  REQUIRE(slot != nullptr);
  REQUIRE_FALSE(places.contains(slot));
}

/// A sender waits a moment for a part that it used lately, and then takes another.
bool gets_slot(Connection& from) {
  const Deadline deadline = Deadline::in_ms(2);
  while (from.acquire() == nullptr)
    if (deadline.passed()) return false;
  return true;
}

TEST_CASE("a peer that has kept parts leaves the sender all its slots") {
  const int slots = GENERATE(1, 2, 4, 16);
  CAPTURE(slots);
  const Ends ends = connect_ends(shm_transport(), moving_params(slots));
  ends.acceptor->peek();
  Direction there{*ends.dialler, *ends.acceptor, 1};
  Direction back{*ends.acceptor, *ends.dialler, 2};
  for (int round = 0; round < 50; ++round) {
    // Answers are awaited, so parts are kept; and then none comes.
    for (int i = 0; i < 4; ++i) {
      if (there.send(kAnswer)) there.receive(kAnswer);
      if (back.send(kAnswer)) back.receive(kAnswer);
    }
    int sent = 0;
    while (sent <= 100 && gets_slot(there.from)) {
      REQUIRE(send_one(there.from, 64 * 1024, there.seed, there.sent));
      ++there.sent;
      ++sent;
    }
    REQUIRE(sent >= slots);
    REQUIRE(sent <= slots + static_cast<int>(shm::MovingParts::kMost));
    for (; sent != 0; --sent) there.receive(64 * 1024);
  }
}

TEST_CASE("parts in use are never shared, whichever end sends when") {
  const uint64_t seed = test_seed(3);
  const int slots = GENERATE(1, 3, 16);
  const bool is_joined = GENERATE(false, true);
  CAPTURE(seed, slots, is_joined);
  const Ends one = connect_ends(shm_transport(), moving_params(slots));
  const Ends other = connect_ends(shm_transport(), moving_params(slots));
  one.acceptor->peek();
  other.acceptor->peek();
  if (is_joined) {
    one.dialler->answer(*other.acceptor);
    other.dialler->answer(*one.acceptor);
  }
  Direction ways[] = {
      {*one.dialler, *one.acceptor, 1},
      is_joined ? Direction{*other.dialler, *other.acceptor, 2} : Direction{*one.acceptor, *one.dialler, 2}};
  const auto length_of = [&](const Direction& way, uint64_t number) {
    constexpr size_t kLengths[] = {0, 100, 1023, 1024, 5000, 9000, 16 * 1024, 40'000, 64 * 1024};
    return kLengths[mix(way.seed, seed + number) % std::size(kLengths)];
  };
  for (uint64_t turn = 0; turn < 6000; ++turn) {
    const uint64_t draw = mix(seed, turn);
    Direction& way = ways[draw % 2];
    // Now mostly sending, now mostly receiving, now in turn.
    const uint64_t sends = turn / 300 % 3 == 0 ? 6 : turn / 300 % 3 == 1 ? 2 : 4;
    if (draw / 2 % 8 < sends)
      way.send(length_of(way, way.sent));
    else if (way.received != way.sent)
      way.receive(length_of(way, way.received));
  }
}

}  // namespace
}  // namespace rondo::test
