// SPDX-License-Identifier: Apache-2.0
// Messages that are read while they are written, and where the messages of a shm connection lie.
#include <cstring>
#include <set>

#include "seed.h"
#include "topology/cache.h"
#include "transports/gradual_slots.h"
#include "transports/hints.h"
#include "transports/zero_copy.h"
#include "watched.h"

namespace rondo::test {
namespace {

constexpr size_t kBytes = 20'000;

ConnectionParams long_slots(int slots = 3) { return small_params(32 * 1024, slots); }

TEST_CASE("a message is read while it is written") {
  const Ends ends = connect_ends(shm_transport(), long_slots());
  ends.acceptor->peek();
  GradualSlots& sender = *ends.dialler->gradual_slots();
  GradualSlots& receiver = *ends.acceptor->gradual_slots();
  std::byte* const slot = ends.dialler->acquire();
  REQUIRE(slot != nullptr);
  sender.begin(kBytes, signature_of(1, 0));
  REQUIRE(ends.acceptor->peek() == nullptr);
  const auto begun = receiver.peek_begun();
  REQUIRE(begun != nullptr);
  REQUIRE(begun->bytes == kBytes);
  REQUIRE(receiver.bytes_there(0) == 0);
  fill(slot, kBytes, 1, 0);
  for (const size_t bytes : {size_t{1}, kBytes / 2, kBytes}) {
    REQUIRE(ends.acceptor->peek() == nullptr);
    sender.grown(bytes);
    REQUIRE(receiver.bytes_there(bytes - 1) == bytes);
    REQUIRE(std::memcmp(begun->data, slot, bytes) == 0);
  }
  REQUIRE(fault(*ends.acceptor->peek(), kBytes, 1, 0) == "");
  ends.acceptor->release();
  REQUIRE(send_one(*ends.dialler, kBytes, 1, 1));
  REQUIRE(receiver.peek_begun() != nullptr);
  REQUIRE(receiver.bytes_there(kBytes - 1) == kBytes);
  REQUIRE(fault(*ends.acceptor->peek(), kBytes, 1, 1) == "");
}

TEST_CASE("a sender learns that its peer waits for the next message, and for no other") {
  const Ends ends = connect_ends(shm_transport(), long_slots());
  ends.acceptor->peek();
  const WaitHints& sender = *ends.dialler->wait_hints();
  WaitHints& receiver = *ends.acceptor->wait_hints();
  REQUIRE_FALSE(sender.is_peer_waiting());
  receiver.say_waiting(1);
  REQUIRE(sender.is_peer_waiting());
  REQUIRE(send_one(*ends.dialler, kBytes, 1, 0));
  REQUIRE_FALSE(sender.is_peer_waiting());
  receiver.say_waiting(1);
  REQUIRE_FALSE(sender.is_peer_waiting());
  REQUIRE(ends.acceptor->peek() != nullptr);
  ends.acceptor->release();
  REQUIRE_FALSE(sender.is_peer_waiting());
  receiver.say_waiting(1);
  REQUIRE(sender.is_peer_waiting());
}

TEST_CASE("a sender learns for how many messages its peer waits") {
  const Ends ends = connect_ends(shm_transport(), long_slots());
  ends.acceptor->peek();
  const WaitHints& sender = *ends.dialler->wait_hints();
  ends.acceptor->wait_hints()->say_waiting(2);
  for (const bool waits : {true, true, false}) {
    REQUIRE(sender.is_peer_waiting() == waits);
    REQUIRE(send_one(*ends.dialler, kBytes, 1, 0));
    REQUIRE(ends.acceptor->peek() != nullptr);
    ends.acceptor->release();
  }
}

TEST_CASE("each end learns on which CPU the other waits") {
  const std::string transport = GENERATE("local", "shm");
  const Ends ends = connect_ends(*transport_by_name(transport).value(), long_slots());
  ends.acceptor->peek();
  WaitHints& dialler = *ends.dialler->wait_hints();
  WaitHints& acceptor = *ends.acceptor->wait_hints();
  REQUIRE_FALSE(dialler.is_peer_on(3));
  acceptor.note_cpu(3);
  dialler.note_cpu(4);
  REQUIRE(dialler.is_peer_on(3));
  REQUIRE(acceptor.is_peer_on(4));
  acceptor.note_cpu(5);
  REQUIRE_FALSE(dialler.is_peer_on(3));
  REQUIRE(dialler.is_peer_on(5));
}

TEST_CASE("few long messages, one after the other, touch the memory of four slots, and many that of more") {
  const size_t fit_cache = core_cache_bytes() / kBytes;  // all stay in four
  const Ends ends = connect_ends(shm_transport(), long_slots(static_cast<int>(fit_cache) + 16));
  ends.acceptor->peek();
  std::set<const std::byte*> early, all;
  for (uint64_t number = 0; number < 600; ++number) {
    const std::byte* const slot = ends.dialler->acquire();
    REQUIRE(slot == ends.dialler->acquire());
    all.insert(slot);
    if (number < 200) early.insert(slot);
    REQUIRE(send_one(*ends.dialler, kBytes, 1, number));
    REQUIRE(fault(*ends.acceptor->peek(), kBytes, 1, number) == "");
    ends.acceptor->release();
  }
  REQUIRE(early.size() == 4);
  REQUIRE(all.size() > 12);
}

TEST_CASE("messages that are in flight never share memory") {
  const uint64_t seed = test_seed(1);
  const int slots = GENERATE(1, 2, 5, 16);
  ConnectionParams params = long_slots(slots);
  params.read_peer = ReadPeer::Always;
  const Ends ends = connect_ends(shm_transport(), params);
  ends.acceptor->peek();
  ends.dialler->peek();
  std::vector<std::vector<std::byte>> posted(16, std::vector<std::byte>(kBytes));
  uint64_t sent = 0, received = 0;
  for (uint64_t turn = 0; received < 600; ++turn) {
    const uint64_t draw = mix(seed, turn);
    if (draw % 8 < (turn / 500 % 2 == 0 ? 6 : 3)) {  // mostly full, and mostly empty
      std::byte* const data = posted[sent % posted.size()].data();
      ends.dialler->flushed();
      if (draw % 8 == 0 && sent - received < posted.size() && ends.dialler->acquire() != nullptr) {
        fill(data, kBytes, seed, sent);
        const bool is_posted = ends.dialler->zero_copy()->post(data, kBytes, signature_of(seed, sent));
        if (is_posted) ++sent;
        if (is_posted) continue;
      }
      const auto send = draw % 16 < 8 ? send_gradually : send_one;
      sent += send(*ends.dialler, kBytes, seed, sent) ? 1 : 0;
    } else if (const auto arrival = ends.acceptor->peek()) {
      INFO("seed " << seed << ", message " << received);
      REQUIRE(fault(*arrival, kBytes, seed, received) == "");
      ends.acceptor->release();
      ++received;
    }
  }
}

TEST_CASE("shm: a message in a slot that is none is an error, and no progress goes beyond its message") {
  Watched watched = connect_watched(long_slots());
  GradualSlots& receiver = *watched.ends.acceptor->gradual_slots();
  REQUIRE(watched.ends.dialler->acquire() != nullptr);
  watched.ends.dialler->gradual_slots()->begin(kBytes, {});
  const AgreedParams params = agreed(long_slots());
  watched.segment.progress(0, params)[0].word = shm::SlotProgress::of(1, 2 * kBytes);
  REQUIRE(receiver.peek_begun() != nullptr);
  REQUIRE(receiver.bytes_there(0) == kBytes);
  watched.segment.progress(0, params)[0].word = shm::SlotProgress::of(2, kBytes);
  REQUIRE(receiver.bytes_there(0) == 0);
  REQUIRE(watched.ends.acceptor->peek() == nullptr);
  watched.segment.progress(0, params)[0].word = shm::SlotProgress::of(1, kBytes);
  watched.ends.acceptor->release();
  REQUIRE(send_one(*watched.ends.dialler, 10, 1, 1));
  watched.segment.fifo(0, params).headers[1].note = shm::Note::in_slot(14, false);
  REQUIRE(watched.ends.acceptor->peek() == nullptr);
  const Status status = watched.ends.acceptor->status();
  REQUIRE(status.code() == Code::RemoteError);
  REQUIRE(status.message().find("message 2 is in slot 14 of 14") != std::string::npos);
}

}  // namespace
}  // namespace rondo::test
