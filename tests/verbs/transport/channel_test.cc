// SPDX-License-Identifier: Apache-2.0
// What messages over a queue pair cost, counted by the stand-in, and what a channel makes of failures.
#include "../../transports/traffic.h"
#include "base/backoff.h"
#include "catch.h"
#include "in_process.h"
#include "raw_ends.h"

namespace rondo::verbs_test {
namespace {

constexpr SlotLayout kLayout{.slots = 4, .slot_bytes = 4096};

struct Channels {
  SlotChannel one, other;
};

Channels connected_channels() {
  RawEnd one(kLayout), other(kLayout);
  connect(one, other);
  return {SlotChannel(std::move(one.parts)), SlotChannel(std::move(other.parts))};
}

void send(SlotChannel& channel, size_t bytes, uint64_t number) {
  std::byte* slot = nullptr;
  require(wait_until([&] { return (slot = channel.acquire()) != nullptr; }, Deadline::in_ms(20'000)),
          "no slot: " + channel.failure().message());
  test::fill(slot, bytes, 1, number);
  channel.commit(bytes, test::signature_of(1, number));
}

void receive(SlotChannel& channel, size_t bytes, uint64_t number) {
  require(wait_until([&] { return channel.peek().has_value(); }, Deadline::in_ms(20'000)),
          "no message: " + channel.failure().message());
  const std::string fault = test::fault(*channel.peek(), bytes, 1, number);
  require(fault.empty(), fault);
  channel.release();
}

TEST_CASE("a message is one post, and the credits of an answer travel in it") {
  CHECK(in_process({}, [] {
          Channels ends = connected_channels();
          const uint64_t sends = calls("post_send"), regions = calls("reg_mr");
          for (uint64_t i = 0; i < 100; ++i) {
            send(ends.one, 100, i);
            receive(ends.other, 100, i);
            send(ends.other, 4096, i);
            receive(ends.one, 4096, i);
          }
          require(calls("post_send") - sends == 200, "one post a message");
          require(calls("reg_mr") == regions && calls("req_notify_cq") == 0, "nothing else");
        }) == "");
}

TEST_CASE("credits without an answer are a message for every half of the slots") {
  CHECK(in_process({}, [] {
          Channels ends = connected_channels();
          const uint64_t sends = calls("post_send");
          for (uint64_t i = 0; i < 100; ++i) {
            send(ends.one, 100, i);
            receive(ends.other, 100, i);
          }
          require(calls("post_send") - sends == 150, "half a message more each");
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

TEST_CASE("messages that arrived before a failure are delivered") {
  for (const char* seed : {"0", "1", "2"})
    CHECK(in_process({{"_SEED", seed}, {"_FAIL", "flush:4"}}, [] {
            Channels ends = connected_channels();
            for (uint64_t i = 0; i < 3; ++i) send(ends.one, 1000, i);
            require(wait_until([&] { return ends.one.flushed(); }, Deadline::in_ms(20'000)), "not flushed");
            send(ends.other, 10, 0);  // the fourth message
            require(wait_until([&] { return ends.other.poll(), !failure_of(ends.other).ok(); },
                               Deadline::in_ms(20'000)),
                    "no failure");
            for (uint64_t i = 0; i < 3; ++i) receive(ends.other, 1000, i);
            require(!ends.other.peek() && ends.other.acquire() == nullptr, "a failed channel goes on");
            require(failure_of(ends.other).code() == Code::RemoteError, failure_of(ends.other).message());
          }) == "");
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
