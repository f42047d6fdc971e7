// SPDX-License-Identifier: Apache-2.0
// FlightRecorder: which calls it remembers, and what a thread that reads meanwhile sees of them.
#include "health/flight_recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "catch.h"

namespace rondo {
namespace {

/// All its fields follow from its number, so that a mixture of two is noticed.
Signature signature_of(uint32_t sequence) {
  return {.count = sequence * uint64_t{3},
          .plan = ~uint64_t{sequence},
          .sequence = sequence,
          .type = sequence + 1,
          .type_bytes = sequence + 2,
          .op = sequence + 3,
          .root = static_cast<int32_t>(sequence)};
}

TEST_CASE("the latest 256 calls are remembered, with their times and outcomes") {
  const auto made = std::make_unique<FlightRecorder>("world");
  FlightRecorder& recorder = *made;
  CHECK(recorder.algorithm() == std::string());
  CHECK_FALSE(recorder.record(0));
  recorder.end();  // of messages: there is no call yet
  constexpr uint32_t kCalls = 1000;
  const int64_t before_ns = FlightRecorder::coarse_now_ns();
  for (uint32_t sequence = 1; sequence <= kCalls; ++sequence) {
    recorder.begin(signature_of(sequence), "ring");
    if (sequence == kCalls) break;
    if (sequence % 2 == 0)
      recorder.end();
    else
      recorder.end_refused();
  }
  recorder.note_algorithm("tree");
  for (uint32_t sequence = 0; sequence <= kCalls + 1; ++sequence) {
    CAPTURE(sequence);
    const auto call = recorder.record(sequence);
    REQUIRE(call.has_value() == (sequence > kCalls - FlightRecorder::kRemembered && sequence <= kCalls));
    if (!call) continue;
    CHECK(call->signature == signature_of(sequence));
    CHECK(call->algorithm == std::string(sequence == kCalls ? "tree" : "ring"));
    CHECK(call->began_ns >= before_ns);
    CHECK(call->began_ns <= now_ns());
    CHECK((call->ended_ns == 0) == (sequence == kCalls));
    CHECK((call->ended_ns == 0 || call->ended_ns >= call->began_ns));
    CHECK(call->refused == (sequence % 2 == 1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  recorder.end();
  CHECK(recorder.record(kCalls)->ended_ns > recorder.record(kCalls)->began_ns);
  const int64_t ended_ns = recorder.record(kCalls)->ended_ns;
  CHECK(ended_ns != 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  recorder.end();  // of messages: the call had ended before
  CHECK(recorder.record(kCalls)->ended_ns == ended_ns);
}

TEST_CASE("the end of a short call after a few polls needs no clock, that of a long one does") {
  const auto recorder = std::make_unique<FlightRecorder>("world");
  for (const bool is_short : {true, false}) {
    recorder->begin({.count = is_short ? 2048u : 2049u, .sequence = 1, .type_bytes = 8}, "ring");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    recorder->end_soon();
    const auto call = recorder->record(1);
    CHECK((call->ended_ns == call->began_ns) == is_short);
    CHECK_FALSE(recorder->inside());
  }
}

TEST_CASE("a thread that reads while calls are recorded sees whole calls only") {
  const auto recorder = std::make_unique<FlightRecorder>("world");
  std::atomic<bool> stops{false};
  std::atomic<uint64_t> seen{0};
  std::atomic<bool> all_whole{true};
  std::thread reader([&] {
    while (!stops.load(std::memory_order_relaxed)) {
      const uint32_t latest = recorder->latest();
      for (uint32_t sequence = latest - std::min(latest, FlightRecorder::kRemembered); sequence <= latest + 1;
           ++sequence) {
        const auto call = recorder->record(sequence);
        if (!call) continue;
        ++seen;
        if (!(call->signature == signature_of(sequence))) all_whole = false;
        if (call->ended_ns != 0 && call->ended_ns < call->began_ns) all_whole = false;
      }
    }
  });
  // Until the reader had its share, on however few processors.
  for (uint32_t sequence = 1; sequence <= 200'000 || seen < 10'000; ++sequence) {
    recorder->begin(signature_of(sequence), "ring");
    recorder->end_soon();
  }
  stops = true;
  reader.join();
  CHECK(all_whole);
}

// Hidden: a time means nothing on a busy machine.
TEST_CASE("the time to record a call", "[.measure]") {
  const auto recorder = std::make_unique<FlightRecorder>("world");
  Signature signature{.count = 1, .type_bytes = 8};
  constexpr int kCalls = 10'000;
  int64_t least_ns = INT64_MAX;
  for (int round = 0; round < 1000; ++round) {
    const int64_t began_ns = now_ns();
    for (int call = 0; call < kCalls; ++call) {
      ++signature.sequence;
      recorder->begin(signature, "ring");
      recorder->end_soon();
    }
    least_ns = std::min(least_ns, now_ns() - began_ns);
  }
  WARN("ns to record a call: " << static_cast<double>(least_ns) / kCalls);
}

}  // namespace
}  // namespace rondo
