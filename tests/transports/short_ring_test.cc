// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <set>

#include "catch.h"
#include "seed.h"
#include "shm/short_ring.h"
#include "traffic.h"

namespace rondo::test {
namespace {

using shm::ShortRing;

constexpr uint64_t kMessages = 64;

TEST_CASE("short messages in flight never overlap, and none is refused for lack of releases that have come") {
  const uint64_t seed = test_seed(1);
  const size_t longest = GENERATE(size_t{0}, size_t{1}, size_t{100}, ShortRing::kLongest);
  CAPTURE(seed, longest);
  struct InFlight {
    uint64_t message;
    size_t begin;
    size_t bytes;
  };
  ShortRing ring(kMessages);
  std::deque<InFlight> in_flight;  // in the ring
  uint64_t sent = 0, released = 0, refused = 0;
  for (uint64_t turn = 0; sent < 20'000; ++turn) {
    const uint64_t draw = mix(seed, turn);
    const size_t bytes = draw / 16 % (longest + 1);
    if (draw % 16 < 5 || sent - released == kMessages) {
      released += sent == released ? 0 : 1 + draw / 16 % (sent - released);
      while (!in_flight.empty() && in_flight.front().message <= released) in_flight.pop_front();
    } else if (draw % 16 == 5) {
      ring.pass(++sent);
    } else if (const size_t begin = ring.find(bytes, released); begin != ShortRing::kNowhere) {
      REQUIRE(begin % 64 == 0);
      REQUIRE(begin + bytes <= ShortRing::kBytes);
      const auto overlaps = [&](const InFlight& other) {
        return begin < other.begin + other.bytes && other.begin < begin + bytes;
      };
      REQUIRE(std::none_of(in_flight.begin(), in_flight.end(), overlaps));
      ring.use(bytes, ++sent);
      in_flight.push_back({sent, begin, bytes});
    } else {
      ++refused;
      REQUIRE_FALSE(in_flight.empty());
    }
  }
  REQUIRE((refused != 0) == (longest == ShortRing::kLongest));
}

TEST_CASE("the ring is short at first, and grows once it has been gone round often") {
  ShortRing ring(kMessages);
  std::set<size_t> places;
  uint64_t message = 0;
  bool has_grown = false;
  for (; !has_grown && message < 1'000'000; ++message) {
    places.insert(ring.find(1024, message));
    has_grown = ring.use(1024, message + 1);
  }
  REQUIRE(has_grown);
  REQUIRE(places.size() == ShortRing::kFirstBytes / 1024);
  for (const uint64_t end = message + 1000; message < end; ++message) {
    places.insert(ring.find(1024, message));
    REQUIRE_FALSE(ring.use(1024, message + 1));
  }
  REQUIRE(places.size() == ShortRing::kBytes / 1024);
}

TEST_CASE("where the next message will be is foreseen") {
  ShortRing ring(kMessages);
  size_t foreseen = 0;
  uint64_t right = 0;
  for (uint64_t message = 0; message < 1000; ++message) {
    const size_t begin = ring.find(100, message);
    if (begin == foreseen) ++right;
    foreseen = ShortRing::after(begin, 100);
    ring.use(100, message + 1);
  }
  REQUIRE(right > 950);  // not where a short ring ends
}

}  // namespace
}  // namespace rondo::test
