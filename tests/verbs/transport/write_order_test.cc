// SPDX-License-Identifier: Apache-2.0
// The order of writes over several queue pairs, without a device.
#include "verbs/write_order.h"

#include <deque>
#include <random>

#include "catch.h"
#include "seed.h"

namespace rondo::verbs {
namespace {

constexpr size_t kWindow = 6;

/// A part on its way.
struct SentPart {
  Immediate said;
  uint32_t bytes;
};

/// The writes of one end, each pair of which is a queue of its own.
class PairsUnderWay {
 public:
  explicit PairsUnderWay(size_t pairs) : pairs_(pairs), queues_(pairs) {}

  void write(uint64_t number, uint32_t bytes) {
    const Stripes stripes = Stripes::of(bytes, pairs_);
    for (uint32_t part = 0; part < stripes.count; ++part) {
      const uint32_t from = part * stripes.bytes;
      const uint32_t length = part + 1 == stripes.count ? bytes - from : stripes.bytes;
      queues_[pair_of(number, part, pairs_)].push_back(
          {Immediate::of(Immediate{static_cast<uint16_t>(3 * number), static_cast<uint16_t>(number),
                                   static_cast<uint8_t>(stripes.count)}
                             .packed()),
           length});
    }
  }
  /// The first part of this pair's queue lands.
  Status land(size_t pair, ArrivalOrder& order) {
    if (queues_[pair].empty()) return {};
    const SentPart part = queues_[pair].front();
    queues_[pair].pop_front();
    return order.add(pair, part.said, part.bytes);
  }

 private:
  const size_t pairs_;
  std::vector<std::deque<SentPart>> queues_;
};

uint32_t length_of(uint64_t number) {
  constexpr uint32_t kLengths[] = {0, 64, 100'000, 131'072, 131'136, 200'000, 262'208};
  return kLengths[number * 7 % std::size(kLengths)];
}

}  // namespace

TEST_CASE("writes arrive in their order, whole and once, whichever pair overtakes which") {
  const auto pairs = GENERATE(size_t{1}, size_t{2}, size_t{3}, size_t{4}, size_t{7}, kMaxPairs);
  CAPTURE(pairs);
  PairsUnderWay on_way(pairs);
  ArrivalOrder order(pairs, kWindow);
  std::mt19937_64 random(test::test_seed(pairs));
  uint64_t sent = 0, arrived = 0;
  while (arrived < 3 * Immediate::kNumbers) {
    if (sent - arrived < kWindow && random() % 2 == 0) {
      on_way.write(sent, length_of(sent));
      ++sent;
    }
    const Status status = on_way.land(random() % pairs, order);
    if (!status.ok()) FAIL(status.message());  // thousands of assertions take longer than what they test
    for (auto write = order.take_arrived(); write; write = order.take_arrived(), ++arrived)
      if (write->bytes != length_of(arrived) || write->given_back != static_cast<uint16_t>(3 * arrived))
        FAIL("write " << arrived << " has " << write->bytes << " bytes");
  }
}

TEST_CASE("own writes are complete in their order, whichever pair acknowledges first") {
  SendOrder order(4);
  order.add(1, WriteKind::Message);
  order.add(2, WriteKind::Credit);
  order.add(1, WriteKind::Message);
  CHECK(order.next_write() == 3);
  order.complete(2);
  order.complete(1);
  CHECK_FALSE(order.take_complete());
  order.complete(0);
  CHECK(order.take_complete() == WriteKind::Message);
  CHECK_FALSE(order.take_complete());
  order.complete(1);
  CHECK(order.take_complete() == WriteKind::Credit);
  CHECK(order.take_complete() == WriteKind::Message);
  CHECK_FALSE(order.take_complete());
}

TEST_CASE("writes of 128 KiB and more are striped, into parts of 64 KiB and more") {
  for (size_t pairs = 1; pairs <= kMaxPairs; ++pairs)
    for (uint32_t bytes = 64; bytes < 2'000'000; bytes += 4007) {
      const Stripes stripes = Stripes::of(bytes, pairs);
      CAPTURE(pairs, bytes, stripes.count, stripes.bytes);
      const uint32_t before_last = (stripes.count - 1) * stripes.bytes;
      const bool fits = (stripes.count > 1) == (bytes >= 131'072 && pairs > 1) && stripes.count <= pairs &&
                        (stripes.count == 1 || (stripes.bytes >= 65'536 && stripes.bytes % 64 == 0)) &&
                        before_last < bytes;
      if (!fits) FAIL("not so");
    }
  CHECK(Stripes::of(64 + 262'144, 2).bytes == 131'136);
}

TEST_CASE("what a peer may not say of a write is found out") {
  const auto refusal = [](size_t pair, Immediate said) {
    ArrivalOrder order(2, 4);
    REQUIRE(order.add(1, {.number = 1}, 64).ok());
    REQUIRE(order.add(0, {.number = 0, .parts = 2}, 64).ok());
    const Status status = order.add(pair, said, 64);
    CHECK((status.ok() || status.code() == Code::RemoteError));
    return status.message();
  };
  CHECK(refusal(0, {.number = 1, .parts = 2}) == "part 2 of write 1 says that there are 2");
  CHECK(refusal(0, {.number = 2}).empty());
  CHECK(refusal(1, {.number = 3}).empty());
  CHECK(refusal(0, {.number = 0}) == "the peer says that it made write 0 (modulo 2048) instead of 2");
  CHECK(refusal(0, {.number = 4}) == "the peer says that it made write 4 (modulo 2048) instead of 2");
  CHECK(refusal(1, {.number = 2}) == "part 2 of write 2 says that there are 1");
  CHECK(refusal(0, {.number = 2, .parts = 3}) == "part 1 of write 2 says that there are 3");
  ArrivalOrder order(2, 4);
  for (const uint16_t number : {uint16_t{0}, uint16_t{2}}) REQUIRE(order.add(0, {.number = number}, 64).ok());
  CHECK(order.add(0, {.number = 4}, 64).message() ==
        "the peer says that it made write 4 (modulo 2048) instead of 4");
  CHECK(ArrivalOrder(2, 4).add(0, {.number = 2}, 64).message() ==
        "the peer says that it made write 2 (modulo 2048) instead of 0");
}

}  // namespace rondo::verbs
