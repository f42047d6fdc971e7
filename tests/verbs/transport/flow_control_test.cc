// SPDX-License-Identifier: Apache-2.0
// Credits and places, without a device: every end that follows the rules is believed, all others are found
// out.
#include "verbs/flow_control.h"

#include <deque>
#include <map>
#include <random>

#include "catch.h"
#include "seed.h"

namespace rondo::verbs {
namespace {

struct Sent {
  uint16_t given_back;
  WriteKind kind;
  uint64_t place = 0;  // of a message; and its length:
  uint64_t bytes = 0;
};

/// One end, and what is on its way to it.
struct FlowEnd {
  explicit FlowEnd(const RingLayout& layout) : flow(layout) {}
  FlowControl flow;
  std::deque<Sent> arriving, arrived;
  uint32_t notices = 0;       // among those that arrive
  uint64_t placed_until = 0;  // of messages to this end
};

/// `knows_places`: those that the receiver has named.
void send_message(FlowEnd& from, FlowEnd& to, uint64_t bytes, bool knows_places) {
  if (!from.flow.has_room(from.flow.sent(), knows_places ? to.placed_until : 0)) return;
  const uint64_t place = from.flow.place_of_sent(from.flow.sent());
  to.arriving.push_back({from.flow.next_message(bytes), WriteKind::Message, place, bytes});
}

void give_back(FlowEnd& from, FlowEnd& to) {
  if (from.flow.must_give_back(from.placed_until))
    to.arriving.push_back({from.flow.credits(), WriteKind::Credit});
}

void release(FlowEnd& from, FlowEnd& to) {
  if (!from.flow.has_arrival()) return;
  if (from.flow.place_of_arrival() != from.arrived.front().place) FAIL("another place than the sender's");
  from.flow.release(from.arrived.front().bytes);
  from.arrived.pop_front();
  give_back(from, to);
}

void notify(FlowEnd& from, FlowEnd& to) {
  if (to.notices == 2) return;
  to.arriving.push_back({from.flow.credits(), WriteKind::Notice});
  ++to.notices;
}

void receive(FlowEnd& end) {
  if (end.arriving.empty()) return;
  const Sent sent = end.arriving.front();
  end.arriving.pop_front();
  if (sent.kind == WriteKind::Notice) --end.notices;
  if (sent.kind == WriteKind::Message) end.arrived.push_back(sent);
  const Status taken = end.flow.take(sent.given_back, sent.kind);
  if (!taken.ok()) FAIL(taken.message());  // millions of assertions take longer than what they test
}

TEST_CASE(
    "ends that follow the rules never stop, and never have more on their way than receives are posted") {
  const auto slots =
      GENERATE(uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{4}, uint64_t{7}, uint64_t{4096});
  const auto most = GENERATE(uint64_t{0}, uint64_t{100}, uint64_t{2000});  // of lengths
  CAPTURE(slots, most);
  const RingLayout layout{.slots = slots, .slot_bytes = 2000};
  FlowEnd one(layout), other(layout);
  std::mt19937_64 random(test::test_seed(slots));
  constexpr uint64_t kMessages = 70'000;  // more than 16 bits hold
  while (one.flow.released() < kMessages || other.flow.released() < kMessages) {
    const uint64_t draw = random();
    FlowEnd& self = draw % 2 == 0 ? one : other;
    FlowEnd& peer = draw % 2 == 0 ? other : one;
    if (draw / 2 % 8 < 2)
      send_message(self, peer, draw / 64 % (most + 1), draw / 16 % 2 == 0);
    else if (draw / 2 % 8 < 4)
      release(self, peer);
    else if (draw / 2 % 8 == 4)
      notify(self, peer);
    else
      receive(self);
    if (draw / 32 % 2 == 0 && random() % 32 == 0) self.placed_until = self.flow.arrived() + random() % 8;
    give_back(self, peer);
    if (peer.arriving.size() - peer.notices > 2 * layout.max_messages())
      FAIL(peer.arriving.size() << " messages on their way");
  }
}

TEST_CASE("without messages back, the credits of half of the slots are a message of their own") {
  FlowControl flow({.slots = 4, .slot_bytes = 1000});
  for (int i = 0; i < 4; ++i) REQUIRE(flow.take(0, WriteKind::Message).ok());
  flow.release(1000);
  REQUIRE_FALSE(flow.must_give_back(0));
  flow.release(1000);
  REQUIRE(flow.must_give_back(0));
  REQUIRE(flow.credits() == 2);
  REQUIRE_FALSE(flow.must_give_back(0));
  flow.release(1000);
  REQUIRE(flow.next_message(0) == 3);
  flow.release(1000);
  REQUIRE_FALSE(flow.must_give_back(0));
}

TEST_CASE("of short messages, the credits of half of those that may be on their way are one") {
  const RingLayout layout{.slots = 4, .slot_bytes = 10'000};
  FlowControl flow(layout);
  for (uint64_t i = 0; i < layout.max_messages(); ++i) REQUIRE(flow.take(0, WriteKind::Message).ok());
  flow.release(8);
  REQUIRE_FALSE(flow.must_give_back(0));
  flow.release(8);
  REQUIRE(flow.must_give_back(0));  // at first, of those that there are slots for
  flow.credits();
  for (uint64_t i = 1; i < layout.max_messages() / 2; ++i) flow.release(8);
  REQUIRE_FALSE(flow.must_give_back(0));
  flow.release(8);
  REQUIRE(flow.must_give_back(0));
  REQUIRE_FALSE(flow.lacks_room(0));
  for (uint64_t i = 0; i < layout.max_messages() / 4; ++i) flow.release(8);
  REQUIRE(flow.lacks_room(0));
}

TEST_CASE("messages on their way lie apart from one another, and as many as there are slots always fit") {
  std::mt19937_64 random(test::test_seed(0));
  for (const uint64_t slots : {1, 2, 3, 4, 100}) {
    const RingLayout layout{.slots = slots, .slot_bytes = 1 + random() % 5000};
    MessageRing ring(layout);
    std::deque<uint64_t> lengths;  // from the oldest that is on its way
    const auto check_apart = [&] {
      std::map<uint64_t, uint64_t> ends;  // by place
      for (size_t i = 0; i < lengths.size(); ++i) {
        const uint64_t place = ring.place(ring.messages() - lengths.size() + i);
        REQUIRE(ends.emplace(place, place + sizeof(SlotHeader) + lengths[i]).second);
      }
      uint64_t end = 0;
      for (const auto& [place, next] : ends) {
        REQUIRE(place >= end);
        end = next;
      }
      REQUIRE(end <= layout.bytes());
    };
    for (int i = 0; i < 600; ++i) {
      const bool all_short = i / 100 % 2 == 0;
      while (ring.has_room(ring.messages() - lengths.size(), false)) {
        lengths.push_back(random() % (all_short ? 30 : layout.slot_bytes + 1));
        ring.add(lengths.back());
      }
      REQUIRE(lengths.size() >= slots);
      check_apart();
      for (uint64_t left = 1 + random() % lengths.size(); left != 0; --left) lengths.pop_front();
    }
  }
}

constexpr RingLayout kThreeSlots{.slots = 3, .slot_bytes = 1000};

Status after_two_sent(uint16_t said, WriteKind kind) {
  FlowControl flow(kThreeSlots);
  flow.next_message(0);
  flow.next_message(0);
  return flow.take(said, kind);
}

TEST_CASE("what the peer may not say is an error, and says what is wrong") {
  CHECK(after_two_sent(2, WriteKind::Message).ok());
  CHECK(after_two_sent(1, WriteKind::Credit).ok());
  CHECK(after_two_sent(0, WriteKind::Notice).ok());
  const auto refusal = [](uint16_t said, WriteKind kind) {
    const Status status = after_two_sent(said, kind);
    REQUIRE(status.code() == Code::RemoteError);
    return status.message();
  };
  CHECK(refusal(3, WriteKind::Message) == "the peer gave back 3 messages, but only 2 were on their way");
  CHECK(refusal(65'535, WriteKind::Notice) ==
        "the peer gave back 65535 messages, but only 2 were on their way");
  CHECK(refusal(0, WriteKind::Credit) == "the peer sent an empty message that gives nothing back");
  FlowControl flow(kThreeSlots);
  for (int i = 0; i < 64; ++i) REQUIRE(flow.take(0, WriteKind::Message).ok());
  flow.release(0);  // of which the peer has not been told
  CHECK(flow.take(0, WriteKind::Message).message() ==
        "the peer sent message 65 before message 1 was given back");
}

TEST_CASE("a peer cannot have come farther than what was sent, nor less far than it has said") {
  const auto after_interruption = [](const FlowControl::Standing& peers) {
    FlowControl flow(kThreeSlots);
    for (int i = 0; i < 3; ++i) flow.next_message(0);
    REQUIRE(flow.take(1, WriteKind::Message).ok());
    return flow.resume(peers);
  };
  CHECK(after_interruption({1, 1}).ok());
  CHECK(after_interruption({3, 2}).ok());
  for (const FlowControl::Standing& wrong : {FlowControl::Standing{4, 1}, {3, 0}, {2, 3}, {0, 0}})
    CHECK(after_interruption(wrong).code() == Code::RemoteError);
}

}  // namespace
}  // namespace rondo::verbs
