// SPDX-License-Identifier: Apache-2.0
// After withdraw() the memory of an end is its own again, whatever its peer does.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/backoff.h"
#include "catch.h"
#include "clock.h"
#include "in_process.h"
#include "raw_ends.h"

namespace rondo::verbs_test {
namespace {

constexpr RingLayout kLongSlots{.slots = 4, .slot_bytes = 1 << 20};
constexpr std::byte kSent{0x5a};

std::byte* memory_of(const SlotMemory& memory) { return memory.at(0); }

size_t landed(const RawEnd& end) {
  const std::byte* const memory = memory_of(*end.ends[0].incoming);
  return static_cast<size_t>(std::count(memory, memory + kLongSlots.bytes(), kSent));
}

/// Quick, so that little lands in the meantime.
bool has_any(const RawEnd& end) {
  return std::memchr(memory_of(*end.ends[0].incoming), static_cast<int>(kSent), kLongSlots.bytes()) !=
         nullptr;
}

/// All of the memory is on its way.
void send_all(RawEnd& from) {
  std::memset(memory_of(*from.ends[0].outgoing), static_cast<int>(kSent), kLongSlots.bytes());
  for (uint64_t i = 0; i <= kLongSlots.slots; ++i)
    succeed(from.ends[0].pair->post(
        {.pieces = {{{from.ends[0].outgoing->at(i * kLongSlots.longest()),
                      static_cast<uint32_t>(kLongSlots.longest()), from.ends[0].outgoing->local_key()}}},
         .to = from.ends[0].peer.slots_at + i * kLongSlots.longest(),
         .remote_key = from.ends[0].peer.key}));
}

/// A transfer stops in its middle, until the time-out of a lost packet has passed.
Variables stopping(const char* seed) { return {{"_AT", "0 loss 20"}, {"_SEED", seed}}; }
constexpr int kLater_ms = 400;  // it has gone on by then

/// Both ends of a transfer, of which some bytes have landed.
struct Transfer {
  Transfer() {
    connect(from, to);
    send_all(from);
    wait_until([&] { return has_any(to); });
  }
  RawEnd from{kLongSlots};
  RawEnd to{kLongSlots};
};

TEST_CASE("no byte lands once the receiver has withdrawn") {
  for (const char* seed : {"0", "1", "2"}) {
    INFO("seed " << seed);
    CHECK(in_process(stopping(seed), [] {
            Transfer transfer;
            transfer.to.ends[0].pair->withdraw();
            const size_t at_once = landed(transfer.to);
            require(at_once < kLongSlots.bytes(), "all had landed");
            test::sleep_ms(kLater_ms);
            require(landed(transfer.to) == at_once, "bytes landed later");
          }) == "");
  }
}

TEST_CASE("no byte is read once the sender has withdrawn") {
  for (const char* seed : {"0", "1"}) {
    INFO("seed " << seed);
    CHECK(in_process(stopping(seed), [] {
            Transfer transfer;
            transfer.from.ends[0].pair->withdraw();
            std::memset(memory_of(*transfer.from.ends[0].outgoing), 0x77, kLongSlots.bytes());
            test::sleep_ms(kLater_ms);
            const std::byte* const memory = memory_of(*transfer.to.ends[0].incoming);
            require(std::find(memory, memory + kLongSlots.bytes(), std::byte{0x77}) ==
                        memory + kLongSlots.bytes(),
                    "bytes were read later");
          }) == "");
  }
}

TEST_CASE("completions of what was done before a withdrawal are not lost") {
  CHECK(in_process({}, [] {
          RawEnd from(kLongSlots), to(kLongSlots);
          connect(from, to);
          succeed(from.ends[0].pair->post({.id = 7, .immediate = 0}));
          wait_until([&] { return !to.ends[0].pair->poll().value().empty(); });
          int succeeded = 0;
          from.ends[0].pair->withdraw([&](const ibv_wc& one) { succeeded += one.status == IBV_WC_SUCCESS; });
          require(succeeded == 1, "the write had completed");
        }) == "");
}

TEST_CASE("what was acknowledged counts as arrived at an end that is suspended, on whichever pair it came") {
  for (const char* seed : {"1", "2", "3", "4", "5", "6"})
    CHECK(in_process({{"_DEVICES", "roce,roce"}, {"_SEED", seed}}, [] {
            constexpr RingLayout kSlots{.slots = 12, .slot_bytes = 256};
            for (int round = 0; round < 8; ++round) {
              RawEnd one(kSlots, 3), other(kSlots, 3);
              connect(one, other);
              SlotChannel from(one.take_parts()), to(other.take_parts());
              for (uint64_t i = 0; i < kSlots.slots; ++i) {
                require(from.acquire() != nullptr, "no slot");
                from.commit(0, {});
              }
              require(wait_until([&] { return from.flushed(); }, Deadline::in_ms(20'000)), "not flushed");
              const Deadline usual = Deadline::in_ms(900);  // a device that is slower may be given up
              const uint64_t arrived = to.suspend(error(Code::RemoteError, "the path is lost")).arrived;
              require(arrived == kSlots.slots || usual.passed(), "an arrival is lost");
            }
          }) == "");
}

TEST_CASE("withdrawing from a device that has failed returns") {
  CHECK(in_process({}, [] {
          Transfer transfer;
          command("fatal 0/rondo_0");
          transfer.to.ends[0].pair->withdraw();
          transfer.from.ends[0].pair->withdraw();
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
