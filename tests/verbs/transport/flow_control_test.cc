// SPDX-License-Identifier: Apache-2.0
// Credits, without a device: every end that follows the rules is believed, all others are
// found out.
#include "verbs/flow_control.h"

#include <deque>
#include <random>

#include "catch.h"
#include "seed.h"

namespace rondo::verbs {
namespace {

struct Sent {
  uint16_t given_back;
  WriteKind kind;
};

/// One end, and what is on its way to it.
struct FlowEnd {
  explicit FlowEnd(uint64_t slots) : flow(slots) {}
  FlowControl flow;
  std::deque<Sent> arriving;
  uint32_t credit_messages = 0, notices = 0;  // among them
};

void send_message(FlowEnd& from, FlowEnd& to) {
  if (from.flow.has_room()) to.arriving.push_back({from.flow.next_message(), WriteKind::Message});
}

void release(FlowEnd& from, FlowEnd& to) {
  if (!from.flow.has_arrival()) return;
  from.flow.release();
  if (!from.flow.must_give_back()) return;
  to.arriving.push_back({from.flow.credits(), WriteKind::Credit});
  REQUIRE(++to.credit_messages <= FlowControl::kMaxCreditMessages);
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
  if (sent.kind == WriteKind::Credit) --end.credit_messages;
  if (sent.kind == WriteKind::Notice) --end.notices;
  const Status taken = end.flow.take(sent.given_back, sent.kind);
  if (!taken.ok()) FAIL(taken.message());  // millions of assertions take longer than what they test
}

TEST_CASE(
    "ends that follow the rules never stop, and never have more on their way than receives are posted") {
  const auto slots =
      GENERATE(uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{4}, uint64_t{7}, uint64_t{4096});
  CAPTURE(slots);
  FlowEnd one(slots), other(slots);
  std::mt19937_64 random(test::test_seed(slots));
  constexpr uint64_t kMessages = 200'000;  // more than 16 bits hold
  while (one.flow.released() < kMessages || other.flow.released() < kMessages) {
    const uint64_t draw = random();
    FlowEnd& self = draw % 2 == 0 ? one : other;
    FlowEnd& peer = draw % 2 == 0 ? other : one;
    if (draw / 2 % 8 < 2)
      send_message(self, peer);
    else if (draw / 2 % 8 < 4)
      release(self, peer);
    else if (draw / 2 % 8 == 4)
      notify(self, peer);
    else
      receive(self);
    if (peer.arriving.size() - peer.notices > slots + FlowControl::kMaxCreditMessages)
      FAIL(peer.arriving.size() << " messages on their way");
  }
}

TEST_CASE("without messages back, the credits of half of the slots are a message of their own") {
  FlowControl flow(4);
  for (int i = 0; i < 4; ++i) REQUIRE(flow.take(0, WriteKind::Message).ok());
  flow.release();
  REQUIRE_FALSE(flow.must_give_back());
  flow.release();
  REQUIRE(flow.must_give_back());
  REQUIRE(flow.credits() == 2);
  REQUIRE_FALSE(flow.must_give_back());
  flow.release();
  REQUIRE(flow.next_message() == 3);
  flow.release();
  REQUIRE_FALSE(flow.must_give_back());
}

Status after_two_sent(uint16_t said, WriteKind kind) {
  FlowControl flow(3);
  flow.next_message();
  flow.next_message();
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
  CHECK(refusal(3, WriteKind::Message) == "the peer gave back 3 slots, but only 2 were in use");
  CHECK(refusal(65'535, WriteKind::Notice) == "the peer gave back 65535 slots, but only 2 were in use");
  CHECK(refusal(0, WriteKind::Credit) == "the peer sent an empty message that gives nothing back");
  FlowControl flow(2);
  REQUIRE(flow.take(0, WriteKind::Message).ok());
  REQUIRE(flow.take(0, WriteKind::Message).ok());
  flow.release();  // of which the peer has not been told
  CHECK(flow.take(0, WriteKind::Message).message() == "the peer sent message 3 without a free slot");
}

TEST_CASE("a peer cannot have come farther than what was sent, nor less far than it has said") {
  const auto after_interruption = [](const FlowControl::Standing& peers) {
    FlowControl flow(3);
    for (int i = 0; i < 3; ++i) flow.next_message();
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
