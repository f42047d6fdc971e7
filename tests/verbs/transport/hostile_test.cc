// SPDX-License-Identifier: Apache-2.0
// A peer that posts what no connection posts: it gets an error at this end, and reaches nothing but its
// slots.
#include <algorithm>
#include <cstring>
#include <functional>

#include "base/backoff.h"
#include "catch.h"
#include "in_process.h"
#include "raw_ends.h"

namespace rondo::verbs_test {
namespace {

using verbs::Immediate;

constexpr RingLayout kSmallSlots{.slots = 3, .slot_bytes = 256};

/// A peer that follows no rule.
struct Attacker {
  RawEnd end{kSmallSlots};

  SlotHeader* first_header() { return reinterpret_cast<SlotHeader*>(end.ends[0].outgoing->at(0)); }

  /// A write to this offset of the other end's slots, with a header that says this.
  void write(uint64_t offset, uint32_t bytes, Immediate immediate, uint64_t number, uint32_t said_bytes) {
    SlotHeader& header = *first_header();
    header.ready = number;
    header.bytes = said_bytes;
    write_as_it_is(offset, bytes, immediate);
  }
  /// The nth write of all, which is a notice of these places, or as much of one.
  void notify(uint16_t nth, const std::vector<verbs::PlaceOffer>& offers, uint32_t bytes = 0) {
    std::vector<verbs::NamedPlace> places;
    for (const verbs::PlaceOffer& offer : offers) places.push_back({.offer = offer});
    const size_t length = verbs::write_notice(end.ends[0].outgoing->at(0), places, 1);
    write_as_it_is(verbs::SlotPages::notice_offset(kSmallSlots, nth),
                   bytes != 0 ? bytes : static_cast<uint32_t>(length), {.number = nth, .is_notice = true});
    // The source may change once the write is complete.
    wait_until([&] { return !end.ends[0].pair->poll().value().empty(); });
  }
  void write_as_it_is(uint64_t offset, uint32_t bytes, Immediate immediate) {
    write_to(end.ends[0].peer.slots_at + offset, end.ends[0].peer.key, bytes, immediate);
  }
  void write_to(uint64_t address, uint32_t key, uint32_t bytes, Immediate immediate) {
    succeed(end.ends[0].pair->post(
        {.pieces = {{{end.ends[0].outgoing->at(0), bytes, end.ends[0].outgoing->local_key()}}},
         .to = address,
         .remote_key = key,
         .immediate = immediate.packed()}));
  }
};

/// The first failure of an end whose peer attacks; messages that arrive before it are released.
Status failure_after(const std::function<void(Attacker&, RawEnd& victim)>& attack) {
  Attacker attacker;
  RawEnd victim(kSmallSlots);
  connect(attacker.end, victim);
  attack(attacker, victim);
  SlotChannel channel(victim.take_parts());
  const bool failed = wait_until(
      [&] {
        if (channel.peek()) channel.release();
        return !failure_of(channel).ok();
      },
      Deadline::in_ms(20'000));
  require(failed, "no failure");
  require(!channel.peek(), "an arrival after the failure");
  require(channel.acquire() == nullptr, "a slot after the failure");
  return failure_of(channel);
}

void check_failure(const std::function<void(Attacker&, RawEnd& victim)>& attack, const std::string& words) {
  for (const char* seed : {"0", "1"})
    CHECK(in_process({{"_SEED", seed}}, [&] {
            const Status status = failure_after(attack);
            require(status.code() == Code::RemoteError, status.message());
            require(status.message().find(words) != std::string::npos, status.message());
          }) == "");
}

TEST_CASE("immediates that do not fit are found out") {
  check_failure(
      [](Attacker& by, RawEnd&) {
        by.write(0, 64, {0, 5}, 1, 0);
      },
      "it made write 5 (modulo 2048) instead of 0");
  check_failure([](Attacker& by, RawEnd&) { by.write(0, 64, {1, 0}, 1, 0); }, "gave back 1 messages");
  check_failure([](Attacker& by, RawEnd&) { by.write(0, 0, {2, 0}, 0, 0); }, "gave back 2 messages");
  check_failure([](Attacker& by, RawEnd&) { by.write(0, 0, {0, 0}, 0, 0); }, "gives nothing back");
}

TEST_CASE("more messages than may be on their way are found out") {
  check_failure(
      [](Attacker& by, RawEnd&) {
        for (uint16_t i = 0; i <= kSmallSlots.max_messages(); ++i) {
          by.write(i % 8 * RingLayout::place_bytes(0), 64, {0, i}, i + 1, 0);
          // The source may change once the write is complete.
          wait_until([&] { return !by.end.ends[0].pair->poll().value().empty(); });
        }
      },
      "message 65 before message 1 was given back");
}

TEST_CASE("false lengths are found out") {
  check_failure([](Attacker& by, RawEnd&) { by.write(0, 64, {0, 0}, 1, 1); }, "says 1 bytes; 0 came");
  check_failure([](Attacker& by, RawEnd&) { by.write(0, 64 + 256, {0, 0}, 1, 0); }, "says 0 bytes; 256 came");
  check_failure([](Attacker& by, RawEnd&) { by.write(0, 64, {0, 0}, 1, 0xFFFFFFC0); }, "a slot has 256");
  check_failure([](Attacker& by, RawEnd&) { by.write(0, 8, {0, 0}, 1, 0); }, "8 bytes, which is no message");
  check_failure(
      [](Attacker& by, RawEnd&) {
        by.write(0, 64 + 256 + 64, {0, 0}, 1, 320);
      },
      "wrote 384 bytes, which is no message");
}

TEST_CASE("notices that cannot be are found out") {
  const auto notice_of = [](const verbs::PlaceOffer& offer) {
    return [offer](Attacker& by, RawEnd&) { by.notify(0, {offer}); };
  };
  check_failure(notice_of({.message = 0, .at = 1, .bytes = 0}), "a place of 0 bytes for message 1");
  check_failure(notice_of({.message = 6, .at = 1, .bytes = 9}), "a place of 9 bytes for message 7");
  check_failure(notice_of({.message = 0, .at = ~uint64_t{0}, .bytes = 9}), "a place of 9 bytes");
  check_failure(notice_of({.at = 1, .bytes = 9, .any_signature = 1}), "a place of 9 bytes");
  check_failure([](Attacker& by, RawEnd&) { by.notify(0, {{.message = 0, .at = 1, .bytes = 9}}, 83); },
                "notice of 1 places has 83 bytes");
  check_failure([](Attacker& by, RawEnd&) { by.notify(0, {{.message = 0, .at = 1, .bytes = 9}}, 4); },
                "notice of 0 places has 4 bytes");
  check_failure([](Attacker& by, RawEnd&) { by.notify(0, {}); }, "notice of 0 places has 8 bytes");
  check_failure(
      [](Attacker& by, RawEnd&) {
        for (uint16_t i = 0; i < 3; ++i) by.notify(i, {{.message = i, .at = 1, .bytes = 9}});
      },
      "notice 3 before notice 1 was answered");
}

TEST_CASE("a message says nothing false of places and notices") {
  const auto message_with = [](uint64_t note) {
    return [note](Attacker& by, RawEnd&) {
      by.first_header()->note = note;
      by.write(0, 64, {0, 0}, 1, 0);
    };
  };
  check_failure(message_with(uint64_t{1} << 63), "message 1 is at a place that was not named");
  check_failure(message_with(1), "has read 1 notices, of 0");
}

TEST_CASE("a message in another slot is found out") {
  check_failure(
      [](Attacker& by, RawEnd&) {
        by.write(RingLayout::place_bytes(0), 64, {0, 0}, 1, 0);
      },
      "the slot of message 1 from rank 1 holds message 0");
}

TEST_CASE("a peer's key opens its slots and nothing else") {
  const auto beyond = [](Attacker& by, RawEnd& victim) {
    by.write_to(victim.ends[0].incoming->address() + verbs::SlotPages::bytes(kSmallSlots) - 32,
                by.end.ends[0].peer.key, 64, {0, 0});
  };
  const auto before = [](Attacker& by, RawEnd& victim) {
    by.write_to(victim.ends[0].incoming->address() - 64, by.end.ends[0].peer.key, 64, {0, 0});
  };
  const auto outgoing = [](Attacker& by, RawEnd& victim) {
    by.write_to(victim.ends[0].outgoing->address(), victim.ends[0].outgoing->remote_key(), 64, {0, 0});
  };
  for (const auto& attack : {std::function<void(Attacker&, RawEnd&)>(beyond), {before}, {outgoing}})
    check_failure(attack, "the queue pair to rank 1 failed");
}

}  // namespace
}  // namespace rondo::verbs_test
