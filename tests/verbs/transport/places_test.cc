// SPDX-License-Identifier: Apache-2.0
// Messages that go to places which their receiver has named before they were sent.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "../../transports/ends.h"
#include "../../transports/exported_memory.h"
#include "base/clock.h"
#include "common/fifo.h"
#include "in_process.h"
#include "raw_ends.h"
#include "transports/relay.h"

namespace rondo::verbs_test {
namespace {

using test::ExportedMemory;
using test::signature_of;

constexpr RingLayout kPlaceLayout{.slots = 4, .slot_bytes = 256 * 1024};
constexpr size_t kPlacedBytes = 20'000;

/// Two connected channels, and registered memory of the receiving one.
struct Placing {
  explicit Placing(size_t pairs = 1, size_t bytes = size_t{4} << 20) : memory(bytes) {
    RawEnd one(kPlaceLayout, pairs), other(kPlaceLayout, pairs);
    connect(one, other);
    from.emplace(one.take_parts());
    to.emplace(other.take_parts());
  }
  void send(uint64_t number, size_t bytes) {
    std::byte* slot = nullptr;
    require(test::eventually([&] { return (slot = from->acquire()) != nullptr; }), "no slot");
    test::fill(slot, bytes, 1, number);
    from->commit(bytes, signature_of(1, number));
  }
  /// Where it is; null: in its slot.
  const std::byte* receive(uint64_t number, size_t bytes) {
    require(test::eventually([&] {
              from->poll();
              return to->peek() != nullptr;
            }),
            "nothing has arrived: " + failure_of(*to).message());
    const Arrival arrival = *to->peek();
    const std::string fault = test::fault(arrival, bytes, 1, number);
    require(fault.empty(), fault);
    to->release();
    const bool is_placed = arrival.data >= memory.data() && arrival.data < memory.data() + memory.size();
    return is_placed ? arrival.data : nullptr;
  }
  void expect(uint64_t number, std::byte* place, size_t bytes) {
    const Signature signature = signature_of(1, number);
    to->expect_next(place, bytes, &signature);
  }
  /// Until the sender has read all notices.
  void settle() {
    const auto have_arrived = [&] {
      to->poll();
      from->poll();
      return from->notices_read() == to->notices_sent();
    };
    to->poll();
    require(test::eventually(have_arrived), "a notice does not arrive");
  }

  ExportedMemory memory;
  std::optional<SlotChannel> from, to;
};

/// Runs the body with one queue pair, and with three on two devices.
void with_places(const std::function<void(Placing& placing)>& body) {
  for (const size_t pairs : {1, 3})
    for (const char* seed : {"0", "1"}) {
      INFO(pairs << " queue pairs, seed " << seed);
      CHECK(in_process({{"_DEVICES", "roce,roce"}, {"_SEED", seed}}, [&] {
              Placing placing(pairs);
              body(placing);
            }) == "");
    }
}

TEST_CASE("messages go to the places that were named for them") {
  with_places([](Placing& placing) {
    std::byte* const at = placing.memory.data() + 3;  // wherever they begin
    for (uint64_t i = 0; i < 4; ++i)
      placing.expect(i, i == 2 ? nullptr : at + i * kPlaceLayout.slot_bytes, kPlacedBytes + i);
    require(placing.to->room_ahead() == size_t{4}, "of twice as many as there are slots");
    placing.settle();
    for (uint64_t i = 0; i < 4; ++i) placing.send(i, kPlacedBytes + i);
    for (uint64_t i = 0; i < 4; ++i)
      require(placing.receive(i, kPlacedBytes + i) == (i == 2 ? nullptr : at + i * kPlaceLayout.slot_bytes),
              "another place of message " + std::to_string(i));
    require(!placing.to->has_named(), "a place is still named");
  });
}

TEST_CASE("striped messages go to places, from slots and from registered memory") {
  with_places([](Placing& placing) {
    const ExportedMemory source(kPlaceLayout.slot_bytes);
    placing.from->export_memory(source.exportable());
    const size_t bytes = kPlaceLayout.slot_bytes;
    for (uint64_t i = 0; i < 2; ++i) placing.expect(i, placing.memory.data() + i * bytes, bytes);
    placing.settle();
    placing.send(0, bytes);
    test::fill(source.data(), bytes, 1, 1);
    require(placing.from->post(source.data(), bytes, signature_of(1, 1)), "not posted");
    for (uint64_t i = 0; i < 2; ++i)
      require(placing.receive(i, bytes) == placing.memory.data() + i * bytes, "in its slot");
  });
}

TEST_CASE("a place that is not that of the message, comes late, or cannot be written, costs a copy") {
  with_places([](Placing& placing) {
    std::vector<std::byte> ordinary(kPlacedBytes);
    placing.send(0, kPlacedBytes);
    placing.expect(0, placing.memory.data(), kPlacedBytes);  // sent already
    placing.expect(1, placing.memory.data(), kPlacedBytes + 1);
    placing.expect(5, placing.memory.data(), kPlacedBytes);  // message 2 has another signature
    placing.expect(3, ordinary.data(), kPlacedBytes);
    placing.settle();
    for (uint64_t i = 1; i < 4; ++i) placing.send(i, kPlacedBytes);
    for (uint64_t i = 0; i < 4; ++i) require(placing.receive(i, kPlacedBytes) == nullptr, "at a place");
    const bool untouched = std::all_of(placing.memory.data(), placing.memory.data() + placing.memory.size(),
                                       [](std::byte byte) { return byte == std::byte{0}; });
    require(untouched, "something was written there");
  });
}

TEST_CASE("a message that has arrived gets no place, and the peer is told of none") {
  CHECK(in_process({}, [] {
          Placing placing;
          const auto send_all = [&](uint64_t first, uint64_t end) {
            for (uint64_t i = first; i < end; ++i) placing.send(i, kPlacedBytes);
            require(test::eventually([&] { return placing.from->flushed(); }), "not sent");
          };
          const auto receive_all = [&](uint64_t first, uint64_t end) {
            for (uint64_t i = first; i < end; ++i)
              require(placing.receive(i, kPlacedBytes) == nullptr, "at a place");
          };
          send_all(0, 4);
          require(test::eventually([&] { return placing.to->peek() && placing.to->arrived() == 4; }),
                  "nothing has arrived");
          for (uint64_t i = 0; i < 4; ++i) placing.expect(i, placing.memory.data(), kPlacedBytes);
          require(!placing.to->has_named(), "a place of a message that has arrived");
          receive_all(0, 4);  // which gives back three slots
          for (uint64_t i = 4; i < 7; ++i) placing.expect(i, placing.memory.data(), kPlacedBytes);
          send_all(4, 7);
          test::sleep_ms(20);
          receive_all(4, 7);
          require(placing.to->notices_sent() == 0, "a notice in vain");
        }) == "");
}

TEST_CASE("a place for any message takes those that fit and are not short") {
  with_places([](Placing& placing) {
    const size_t lengths[] = {kPlacedBytes, 100, 16 * 1024, kPlacedBytes + 1};
    for (uint64_t i = 0; i < 4; ++i)
      placing.to->expect_next(placing.memory.data() + i * kPlaceLayout.slot_bytes, kPlacedBytes, nullptr);
    placing.settle();
    for (uint64_t i = 0; i < 4; ++i) placing.send(i, lengths[i]);
    for (uint64_t i = 0; i < 4; ++i)
      require((placing.receive(i, lengths[i]) != nullptr) == (i == 0 || i == 2),
              "message " + std::to_string(i));
  });
}

/// As a long send does it: Data among other messages.
TEST_CASE("all messages with a signature go one behind the other") {
  with_places([](Placing& placing) {
    std::byte* at = placing.memory.data() + 1;
    const size_t lengths[] = {200'000, 20'000, 1000, 150'000, 16'384};
    size_t bytes = 0;
    for (const size_t length : lengths) bytes += length;
    const auto send = [&](size_t length, const Signature& signature) {
      std::byte* slot = nullptr;
      require(test::eventually([&] { return (slot = placing.from->acquire()) != nullptr; }), "no slot");
      std::memset(slot, static_cast<int>(length % 251), length);
      placing.from->commit(length, signature);
    };
    placing.to->expect_all(at, bytes, signature_of(1, 0));
    placing.settle();
    for (const size_t length : lengths) {
      for (const bool is_other : {true, false}) {
        send(length, signature_of(1, is_other ? 1 : 0));
        require(test::eventually([&] { return placing.to->peek() != nullptr; }), "nothing has arrived");
        const Arrival arrival = *placing.to->peek();
        require((arrival.data == at) == (!is_other && length >= 16'384), "another place");
        const auto value = static_cast<std::byte>(length % 251);
        require(arrival.bytes == length && std::all_of(arrival.data, arrival.data + length,
                                                       [&](std::byte byte) { return byte == value; }),
                "other bytes");
        placing.to->release();
      }
      at += length;
    }
    require(!placing.to->has_named(), "a place is still named");
  });
}

TEST_CASE("a stream of messages takes no more notices than it would take credits") {
  CHECK(in_process({}, [] {
          Placing placing;
          constexpr uint64_t kMessages = 100;
          uint64_t named = 0, placed = 0;
          const uint64_t sends = calls("post_send");
          for (uint64_t i = 0; i < kMessages; ++i) {
            for (; named < kMessages && placing.to->room_ahead() != size_t{0}; ++named)
              placing.expect(named, placing.memory.data(), kPlacedBytes);
            if (i == 0) placing.settle();
            placing.send(i, kPlacedBytes);
            if (placing.receive(i, kPlacedBytes) != nullptr) ++placed;
            if (i % 2 == 1) placing.settle();
          }
          require(placed == kMessages, std::to_string(placed) + " at their places");
          require(calls("post_send") - sends <= kMessages + kMessages / 2 + 2,
                  std::to_string(calls("post_send") - sends) + " posts");
        }) == "");
}

TEST_CASE("after a cancelled call nothing comes to its places") {
  for (const char* seed : {"0", "1", "2"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            Placing placing;
            for (uint64_t i = 0; i < 4; ++i)
              placing.expect(i, placing.memory.data() + i * kPlaceLayout.slot_bytes, kPlacedBytes);
            placing.settle();
            const uint64_t ended = calls("dereg_mr");
            for (uint64_t i = 0; i < 4; ++i) placing.send(i, kPlacedBytes);
            placing.to->withdraw();
            require(calls("dereg_mr") > ended, "still registered");
            std::memset(placing.memory.data(), 7, placing.memory.size());
            test::sleep_ms(20);
            const bool is_quiet =
                std::all_of(placing.memory.data(), placing.memory.data() + placing.memory.size(),
                            [](std::byte byte) { return byte == std::byte{7}; });
            require(is_quiet, "a byte came later");
          }) == "");
}

TEST_CASE("a peer names places for no more streams of messages than are kept") {
  verbs::KnownPlaces known(4);
  const auto add = [&](uint64_t first) {
    std::vector<verbs::NamedPlace> places(3);
    for (size_t i = 0; i < places.size(); ++i)
      places[i].offer = {.at = 1, .bytes = kPlacedBytes, .signature = signature_of(1, first + i)};
    std::array<std::byte, verbs::kMaxNoticeBytes> notice;
    const size_t bytes = verbs::write_notice(notice.data(), places, 1);
    const Status status = known.add({notice.data(), bytes}, 1, 0);
    known.tell_read();
    return status;
  };
  CHECK(add(0).ok());
  CHECK(add(3).ok());
  CHECK(add(6).message() == "the peer names places for too many messages at once");
  CHECK(known.take(0, kPlacedBytes, signature_of(1, 7)).keys != nullptr);
  CHECK(add(9).ok() == false);
}

TEST_CASE("a place is not named while two notices have not been answered") {
  CHECK(in_process({}, [] {
          Placing placing;
          for (uint64_t i = 0; i < 3; ++i)
            placing.to->expect_all(placing.memory.data() + i * kPlacedBytes, kPlacedBytes,
                                   signature_of(1, i));
          placing.settle();
          for (uint64_t i = 0; i < 3; ++i) {
            placing.send(i, kPlacedBytes);
            require((placing.receive(i, kPlacedBytes) != nullptr) == (i < 2), "message " + std::to_string(i));
          }
          placing.to->expect_all(placing.memory.data(), kPlacedBytes, signature_of(1, 3));
          placing.settle();
          placing.send(3, kPlacedBytes);
          require(placing.receive(3, kPlacedBytes) != nullptr, "not answered");
        }) == "");
}

TEST_CASE("memory stays registered until the message has come to its place") {
  CHECK(in_process({}, [] {
          Placing placing;
          std::vector<std::byte> memory(kPlacedBytes);
          std::optional<AccessibleMemory> registered(std::in_place, memory.data(), memory.size());
          placing.expect(0, memory.data(), memory.size());
          placing.settle();
          const uint64_t ended = calls("dereg_mr");
          registered.reset();
          placing.send(0, kPlacedBytes);
          placing.receive(0, kPlacedBytes);
          std::vector<std::byte> filled(kPlacedBytes);
          test::fill(filled.data(), kPlacedBytes, 1, 0);
          require(memory == filled, "it is elsewhere");
          require(calls("dereg_mr") == ended + 1, "still registered");
        }) == "");
}

TEST_CASE("after a cancelled receive nothing comes to its place, and the peer learns of it") {
  for (const char* seed : {"0", "1", "2"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            const Transport& verbs = *transport_by_name("verbs").value();
            const auto params = test::small_params(40'000);
            test::Ends ends;
            ends.dialler = ends.connect(verbs, params, true).take();
            ends.acceptor = ends.connect(verbs, params, false).take();
            require(test::eventually([&] { return ends.dialler->acquire() && ends.acceptor->acquire(); }),
                    "not connected");
            const ExportedMemory memory(kPlacedBytes);
            ZeroCopy& receiver = *ends.acceptor->zero_copy();
            receiver.expect_all(memory.data(), kPlacedBytes, signature_of(1, 0));
            test::sleep_ms(20);
            ends.dialler->peek();  // and reads the notice
            receiver.cancel();
            std::memset(memory.data(), 7, kPlacedBytes);
            test::send_one(*ends.dialler, kPlacedBytes, 1, 0);
            require(test::eventually([&] {
                      ends.dialler->flushed();
                      return !ends.dialler->status().ok();
                    }),
                    "the peer learns nothing");
            const bool is_quiet = std::all_of(memory.data(), memory.data() + kPlacedBytes,
                                              [](std::byte byte) { return byte == std::byte{7}; });
            require(is_quiet, "a byte came later");
          }) == "");
}

/// A sender, and a GPU that receives by a Relay.
struct RelayedTo {
  RelayedTo() : lines(Relay::host_bytes(params) / sizeof(ReleasedCounter) + 1) {
    const Transport& verbs = *transport_by_name("verbs").value();
    ends.dialler = ends.connect(verbs, params, true).take();
    ends.acceptor = ends.connect(verbs, params, false).take();
    require(test::eventually([&] { return ends.dialler->acquire() && ends.acceptor->acquire(); }),
            "not connected");
    relay.emplace(*ends.acceptor, Relay::FifoMemory{reinterpret_cast<std::byte*>(lines.data())}, params);
    gpu.emplace(relay->incoming());
  }
  /// Whether the GPU gets a message, while up to this many have been sent.
  bool arrives(uint64_t most) {
    return test::eventually([&] {
      if (sent != most && test::send_one(*ends.dialler, kPlacedBytes, 1, sent)) ++sent;
      ends.dialler->flushed();
      relay->pump();
      return gpu->peek() != nullptr;
    });
  }
  void check(const Arrival& arrival, uint64_t number) const {
    const std::string fault = test::fault(arrival, kPlacedBytes, 1, number);
    require(fault.empty(), fault);
  }

  const ConnectionParams params = test::small_params(40'000);
  std::vector<ReleasedCounter> lines;
  test::Ends ends;
  std::optional<Relay> relay;
  std::optional<FifoReceiver> gpu;
  uint64_t sent = 0;
};

TEST_CASE("no message comes to a slot that a GPU has not emptied") {
  for (const char* seed : {"0", "1"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            RelayedTo to;
            for (uint64_t number = 0; number < 40; ++number) {
              require(to.arrives(100), "nothing arrives");
              const Arrival arrival = *to.gpu->peek();
              for (int i = 0; i < 50; ++i) {
                if (test::send_one(*to.ends.dialler, kPlacedBytes, 1, to.sent)) ++to.sent;
                to.relay->pump();
                test::sleep_us(100);
              }
              to.check(arrival, number);
              to.gpu->release();
            }
          }) == "");
}

TEST_CASE("after a GPU's FIFO has ended no message comes to it") {
  CHECK(in_process({}, [] {
          RelayedTo to;
          for (uint64_t number = 0; number < 6; ++number) {
            require(to.arrives(number + 1), "nothing arrives");
            to.check(*to.gpu->peek(), number);
            to.gpu->release();
          }
          for (int i = 0; i < 50; ++i) {
            to.relay->pump();  // names places
            to.ends.dialler->flushed();
            test::sleep_us(100);
          }
          to.relay.reset();
          std::memset(static_cast<void*>(to.lines.data()), 7, to.lines.size() * sizeof(ReleasedCounter));
          for (int i = 0; i < 50; ++i) {
            if (test::send_one(*to.ends.dialler, kPlacedBytes, 1, to.sent)) ++to.sent;
            to.ends.dialler->flushed();
            test::sleep_us(100);
          }
          const auto* const begin = reinterpret_cast<const std::byte*>(to.lines.data());
          const bool is_quiet = std::all_of(begin, begin + to.lines.size() * sizeof(ReleasedCounter),
                                            [](std::byte byte) { return byte == std::byte{7}; });
          require(is_quiet, "a byte came later");
        }) == "");
}

TEST_CASE("memory that can only be read is sent from, and not written to") {
  CHECK(in_process({}, [] {
          Placing placing;
          constexpr size_t kBytes = 64 * 1024;
          auto* const read_only =
              static_cast<std::byte*>(::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
          const AccessibleMemory registered(read_only, kBytes);
          placing.from->export_memory(*find_accessible(read_only, kBytes));
          require(placing.from->can_post(read_only, kPlacedBytes), "cannot be posted");
          placing.expect(0, read_only, kPlacedBytes);
          placing.settle();
          placing.send(0, kPlacedBytes);
          require(placing.receive(0, kPlacedBytes) == nullptr, "it was written to");
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
