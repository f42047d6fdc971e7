// SPDX-License-Identifier: Apache-2.0
// What messages over queue pairs cost, counted by the stand-in, and what a channel makes of failures.
#include <poll.h>

#include <functional>
#include <tuple>

#include "../../transports/traffic.h"
#include "base/backoff.h"
#include "catch.h"
#include "clock.h"
#include "in_process.h"
#include "raw_ends.h"

namespace rondo::verbs_test {
namespace {

constexpr RingLayout kLayout{.slots = 4, .slot_bytes = 4096};

struct Channels {
  SlotChannel one, other;
};

Channels connected_channels(size_t pairs = 1, const RingLayout& layout = kLayout) {
  RawEnd one(layout, pairs), other(layout, pairs);
  connect(one, other);
  return {SlotChannel(one.take_parts()), SlotChannel(other.take_parts())};
}

void send(SlotChannel& channel, size_t bytes, uint64_t number) {
  std::byte* slot = nullptr;
  require(wait_until([&] { return (slot = channel.acquire()) != nullptr; }, Deadline::in_ms(20'000)),
          "no slot: " + channel.failure().message());
  test::fill(slot, bytes, 1, number);
  channel.commit(bytes, test::signature_of(1, number));
}

void receive(SlotChannel& channel, size_t bytes, uint64_t number) {
  require(wait_until([&] { return channel.peek() != nullptr; }, Deadline::in_ms(20'000)),
          "no message: " + channel.failure().message());
  const std::string fault = test::fault(*channel.peek(), bytes, 1, number);
  require(fault.empty(), fault);
  channel.release();
}

/// Runs the body with one queue pair, and with three on two devices.
void with_pairs(const std::function<void(size_t pairs)>& body) {
  for (const size_t pairs : {1, 3}) {
    INFO(pairs << " queue pairs");
    CHECK(in_process({{"_DEVICES", "roce,roce"}}, [&] { body(pairs); }) == "");
  }
}

TEST_CASE("a message is one post, and the credits of an answer travel in it") {
  with_pairs([](size_t pairs) {
    Channels ends = connected_channels(pairs);
    const uint64_t sends = calls("post_send"), regions = calls("reg_mr");
    for (uint64_t i = 0; i < 100; ++i) {
      send(ends.one, 100, i);
      receive(ends.other, 100, i);
      send(ends.other, 4096, i);
      receive(ends.one, 4096, i);
    }
    require(calls("post_send") - sends == 200, "one post a message");
    require(calls("reg_mr") == regions && calls("req_notify_cq") == 0, "nothing else");
  });
}

TEST_CASE("a message that fits inline is one post at one end, and one poll at the other") {
  with_pairs([](size_t pairs) {
    Channels ends = connected_channels(pairs);
    for (uint64_t i = 0; i < 12; ++i) {
      auto [from, to] = i % 2 == 0 ? std::tie(ends.one, ends.other) : std::tie(ends.other, ends.one);
      const uint64_t sends = calls("post_send");
      send(from, 100, i);
      require(calls("post_send") - sends == 1, "one post");
      require(wait_until([&, &end = from] { return end.flushed(); }, Deadline::in_ms(20'000)), "not flushed");
      test::sleep_ms(10);  // its completion at the other end may come a little later
      const uint64_t polls = calls("poll_cq");
      require(to.peek() != nullptr, "it has not arrived");
      require(calls("poll_cq") - polls == 1, "one poll");
      to.release();
    }
  });
}

constexpr RingLayout kLongLayout{.slots = 4, .slot_bytes = 256 * 1024};

TEST_CASE("a message of 128 KiB is striped over the pairs, a shorter one is not") {
  for (const char* seed : {"0", "1"})
    CHECK(in_process({{"_DEVICES", "roce,roce"}, {"_SEED", seed}}, [] {
            const auto posts_of = [](size_t bytes, size_t pairs) {
              Channels ends = connected_channels(pairs, kLongLayout);
              const uint64_t sends = calls("post_send");
              send(ends.one, bytes, 0);
              const uint64_t posts = calls("post_send") - sends;
              receive(ends.other, bytes, 0);
              return posts;
            };
            require(posts_of(256 * 1024, 1) == 1, "one pair");
            require(posts_of(100'000, 2) == 1, "too short");
            require(posts_of(128 * 1024, 2) == 2, "two parts");
            require(posts_of(256 * 1024, 3) == 3, "three parts");
            require(posts_of(256 * 1024, 8) == 4, "parts of 64 KiB");
          }) == "");
}

TEST_CASE("pairs that overtake one another change neither messages nor their order") {
  for (const char* seed : {"1", "2"})
    for (const size_t pairs : {2, 4}) {
      INFO("seed " << seed << ", " << pairs << " queue pairs");
      CHECK(in_process({{"_DEVICES", "roce:2,roce"}, {"_SEED", seed}}, [&] {
              Channels ends = connected_channels(pairs, kLongLayout);
              const auto length = [](uint64_t number) { return number * 77'773 % (256 * 1024); };
              uint64_t sent = 0, received = 0;
              const auto go_on = [&] {
                for (; sent < 60 && ends.one.acquire() != nullptr; ++sent) send(ends.one, length(sent), sent);
                for (; ends.other.peek(); ++received) receive(ends.other, length(received), received);
                return received == 60;
              };
              require(wait_until(go_on, Deadline::in_ms(20'000)), failure_of(ends.other).message());
            }) == "");
    }
}

TEST_CASE("credits without an answer are a message for half of the slots or three quarters") {
  const auto credits_of = [](size_t bytes, uint64_t messages) {
    Channels ends = connected_channels();
    const uint64_t sends = calls("post_send");
    for (uint64_t i = 0; i < messages; ++i) {
      send(ends.one, bytes, i);
      receive(ends.other, bytes, i);
    }
    return calls("post_send") - sends - messages;
  };
  CHECK(in_process({}, [&] {
          const uint64_t credits = credits_of(kLayout.slot_bytes, 100);
          require(credits >= 33 && credits <= 50, std::to_string(credits) + " messages of credits");
          const uint64_t few = credits_of(8, 960);  // of 64 that may be on their way
          require(few >= 20 && few <= 30, std::to_string(few) + " messages of credits of short messages");
        }) == "");
}

TEST_CASE("64 short messages are on their way at once, after the first have been given back") {
  const auto sent_at_once = [](size_t bytes) {
    Channels ends = connected_channels();
    uint64_t sent = 0, received = 0;
    const auto fill = [&] {
      for (; ends.one.acquire() != nullptr; ++sent) send(ends.one, bytes, sent);
      return ends.one.flushed() && ends.one.acquire() == nullptr;
    };
    const auto receive_all = [&] {
      for (; received != sent; ++received) receive(ends.other, bytes, received);
      ends.other.poll();
      return ends.one.acquire() != nullptr;
    };
    require(wait_until(fill, Deadline::in_ms(20'000)) && sent == kLayout.slots, "not as many as slots");
    require(wait_until(receive_all, Deadline::in_ms(20'000)), "nothing is given back");
    require(wait_until(fill, Deadline::in_ms(20'000)), "not flushed");
    return sent - received;
  };
  CHECK(in_process({}, [&] {
          const uint64_t short_ones = sent_at_once(8);  // of the first four, two may not be given back yet
          require(short_ones >= 62 && short_ones <= 64, std::to_string(short_ones) + " of the short ones");
          const uint64_t longest = sent_at_once(kLayout.slot_bytes);
          require(longest >= kLayout.slots - 2 && longest <= kLayout.slots + 1, std::to_string(longest));
          const uint64_t quarters = sent_at_once(1000);
          require(quarters >= 12 && quarters <= 17, std::to_string(quarters) + " of a quarter of that");
        }) == "");
}

TEST_CASE("credits whose messages are lost with their paths hold back no later ones") {
  CHECK(in_process({}, [] {
          constexpr size_t kBytes = kLayout.slot_bytes;
          Channels ends = connected_channels();
          const Status lost = error(Code::RemoteError, "the path is lost");
          uint64_t sent = 0;
          for (uint32_t i = 0; i <= verbs::PairSet::max_credit_writes(kLayout); ++i) {
            send(ends.one, kBytes, sent);
            send(ends.one, kBytes, sent + 1);
            require(wait_until([&] { return ends.one.flushed(); }, Deadline::in_ms(20'000)), "not flushed");
            command("port_down 0/rondo_0:1");
            receive(ends.other, kBytes, sent++);
            receive(ends.other, kBytes, sent++);
            const auto ones = ends.one.suspend(lost), others = ends.other.suspend(lost);
            command("port_up 0/rondo_0:1");
            RawEnd one(kLayout), other(kLayout);
            connect(one, other);
            ends.one.resume(one.take_parts(), others);
            ends.other.resume(other.take_parts(), ones);
          }
          for (uint64_t i = 0; i < 3 * kLayout.slots; ++i, ++sent) {
            send(ends.one, kBytes, sent);
            receive(ends.other, kBytes, sent);
          }
        }) == "");
}

TEST_CASE("what came before the queue was armed keeps a thread from sleeping") {
  CHECK(in_process({}, [] {
          Channels ends = connected_channels();
          require(ends.other.arm(), "nothing has come");
          // The first has arrived before the second is complete.
          for (uint64_t i = 0; i < 2; ++i) send(ends.one, 100, i);
          require(wait_until([&] { return ends.one.flushed(); }, Deadline::in_ms(20'000)), "not flushed");
          require(!ends.other.arm(), "it would sleep");
          receive(ends.other, 100, 0);
          receive(ends.other, 100, 1);
        }) == "");
}

TEST_CASE(
    "a pair whose completions do not count yet hides those of another from no thread that would sleep") {
  CHECK(in_process({}, [] {
          Channels ends = connected_channels(2);
          send(ends.other, 100, 0);
          receive(ends.one, 100, 0);  // so the second pair is polled first
          for (uint64_t i = 0; i < 2; ++i) send(ends.one, 100, i);
          for (uint64_t i = 0; i < 2; ++i) receive(ends.other, 100, i);
          require(!ends.one.arm(), "it would sleep");
          require(ends.one.delivered() == 2, "both are complete");
        }) == "");
}

TEST_CASE("a thread that sleeps is woken by whichever pair brings a message") {
  with_pairs([](size_t pairs) {
    Channels ends = connected_channels(pairs, {.slots = 16, .slot_bytes = 4096});
    for (uint64_t i = 0; i < 7; ++i) {  // too few for a message with credits
      require(ends.other.arm(), "something has come before");
      pollfd sleeping{ends.other.descriptor(), POLLIN, 0};
      require(::poll(&sleeping, 1, 0) == 0, "woken before");
      send(ends.one, 100, i);
      require(::poll(&sleeping, 1, 20'000) == 1, "not woken by message " + std::to_string(i));
      receive(ends.other, 100, i);
    }
  });
}

TEST_CASE("messages that arrived before a failure are delivered, those of other pairs too") {
  const auto deliver = [](size_t pairs) {
    Channels ends = connected_channels(pairs);
    for (uint64_t i = 0; i < 3; ++i) send(ends.one, 1000, i);
    require(wait_until([&] { return ends.one.flushed(); }, Deadline::in_ms(20'000)), "not flushed");
    send(ends.other, 10, 0);  // the fourth message
    test::sleep_ms(10);       // so that its failure is found before some of what has arrived
    require(
        wait_until([&] { return ends.other.poll(), !failure_of(ends.other).ok(); }, Deadline::in_ms(20'000)),
        "no failure");
    for (uint64_t i = 0; i < 3; ++i) receive(ends.other, 1000, i);
    require(!ends.other.peek() && ends.other.acquire() == nullptr, "a failed channel goes on");
    require(failure_of(ends.other).code() == Code::RemoteError, failure_of(ends.other).message());
  };
  for (const char* seed : {"0", "1", "2"})
    for (const size_t pairs : {1, 3})
      CHECK(in_process({{"_SEED", seed}, {"_FAIL", "flush:4"}}, [&] { deliver(pairs); }) == "");
}

TEST_CASE("failed completions are named by cause and rank") {
  const auto failure_by = [](const char* fault, const std::string& words) {
    CHECK(in_process({{"_FAIL", fault}}, [&] {
            Channels ends = connected_channels();
            send(ends.one, 10, 0);
            require(wait_until([&] { return ends.one.flushed(), !failure_of(ends.one).ok(); },
                               Deadline::in_ms(20'000)),
                    "no failure");
            require(failure_of(ends.one).message() == words, failure_of(ends.one).message());
          }) == "");
  };
  failure_by("access:1", "the queue pair to rank 1 failed: remote access error (status 10)");
  failure_by("rnr:1", "the queue pair to rank 1 failed: RNR retry counter exceeded (status 13)");
  failure_by("retry:1", "the queue pair to rank 1 failed: transport retry counter exceeded (status 12)");
}

}  // namespace
}  // namespace rondo::verbs_test
