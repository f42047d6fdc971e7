// SPDX-License-Identifier: Apache-2.0
// Long messages that a rank reads from its peer's process memory.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "forbid_reading.h"
#include "process.h"
#include "shm/process_reader.h"
#include "transports/hints.h"
#include "transports/zero_copy.h"
#include "watched.h"

namespace rondo::test {
namespace {

constexpr size_t kLength = 20'000;

ConnectionParams reading(ReadPeer read_peer = ReadPeer::Always) {
  ConnectionParams params = small_params(32 * 1024, 3);
  params.read_peer = read_peer;
  return params;
}

/// Both ends, after learning what can be read, and a message in memory that is not exported.
struct Reading {
  explicit Reading(ReadPeer dialler = ReadPeer::Always, ReadPeer acceptor = ReadPeer::Always) {
    ends.dialler = require_connection(ends.connect(shm_transport(), reading(dialler), true));
    ends.acceptor = require_connection(ends.connect(shm_transport(), reading(acceptor), false));
    ends.acceptor->peek();
    ends.dialler->peek();
    fill(mine.data(), kLength, 1, 0);
  }
  Ends ends;
  std::vector<std::byte> mine = std::vector<std::byte>(kLength);
};

/// Whether the kernel lets this process read others; some containers forbid it.
bool may_read() {
  const auto [near, far] = connected_sockets(Route::Unix);
  const bool may = shm::ProcessReader::open(near, *shm::own_cookie()).ok();
  if (!may) WARN("skipped: process_vm_readv() is forbidden here");
  return may;
}

TEST_CASE("a connected process can be read if it has the cookie") {
  if (!may_read()) return;
  const auto [near, far] = connected_sockets(Route::Unix);
  const shm::PidCookie cookie = *shm::own_cookie();
  auto reader = shm::ProcessReader::open(near, cookie);
  REQUIRE(reader.ok());
  const std::vector<std::byte> from(kLength, std::byte{7});
  std::vector<std::byte> to(kLength);
  REQUIRE(reader.value().read(reinterpret_cast<uint64_t>(from.data()), to.data(), kLength));
  REQUIRE(to == from);
  REQUIRE_FALSE(reader.value().read(64, to.data(), kLength));
  REQUIRE_FALSE(shm::ProcessReader::open(near, {cookie.address, cookie.word + 1}).ok());
  REQUIRE_FALSE(shm::ProcessReader::open(near, {64, cookie.word}).ok());
}

TEST_CASE("a forked child is not mistaken for its parent") {
  const shm::PidCookie parents = *shm::own_cookie();
  REQUIRE(shm::own_cookie()->word == parents.word);
  Process child([&] { require(shm::own_cookie()->word != parents.word, "it is"); });
  REQUIRE(child.wait().failure() == "");
}

TEST_CASE("long messages are read in place, in both directions, and short ones are copied") {
  if (!may_read()) return;
  Reading both;
  auto& [ends, mine] = both;
  const bool dials = GENERATE(true, false);
  Connection& sender = dials ? *ends.dialler : *ends.acceptor;
  Connection& receiver = dials ? *ends.acceptor : *ends.dialler;
  REQUIRE(sender.zero_copy()->post_mode(mine.data(), kLength) == ZeroCopy::PostMode::Read);
  REQUIRE(sender.zero_copy()->post_mode(mine.data(), 1000) == ZeroCopy::PostMode::None);
  REQUIRE(sender.zero_copy()->post(mine.data(), kLength, signature_of(1, 0)));
  REQUIRE(fault(*receiver.peek(), kLength, 1, 0) == "");
  const std::byte* const seen = receiver.peek()->data;
  REQUIRE(receiver.peek()->data == seen);
  REQUIRE(receiver.zero_copy()->intact());
  REQUIRE_FALSE(sender.flushed());
  receiver.release();
  REQUIRE(sender.flushed());
}

TEST_CASE("a long message is read into the expected place only if it matches") {
  if (!may_read()) return;
  Reading both;
  auto& [ends, mine] = both;
  const bool is_it = GENERATE(true, false);
  std::vector<std::byte> place(kLength);
  ends.acceptor->zero_copy()->expect(place.data(), kLength, signature_of(1, is_it ? 0 : 1));
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), kLength, signature_of(1, 0)));
  const auto arrival = ends.acceptor->peek();
  REQUIRE(fault(*arrival, kLength, 1, 0) == "");
  REQUIRE((arrival->data == place.data()) == is_it);
  if (!is_it) REQUIRE(place == std::vector<std::byte>(kLength));
}

TEST_CASE("what is offered is fetched at any length, from any byte on") {
  if (!may_read()) return;
  const Reading both;
  constexpr size_t kOffered = 300'000;
  std::vector<std::byte> mine(kOffered), place(kOffered);
  fill(mine.data(), kOffered, 1, 0);
  const uint64_t offer = both.ends.dialler->zero_copy()->offer(mine.data(), kOffered);
  REQUIRE(offer != 0);
  ZeroCopy& receiver = *both.ends.acceptor->zero_copy();
  for (const size_t middle : {size_t{0}, size_t{1}, size_t{123'457}, kOffered - 1}) {
    std::ranges::fill(place, std::byte{0xee});
    REQUIRE(receiver.fetch(offer, middle, place.data() + middle, kOffered - middle) ==
            ZeroCopy::Fetched::Done);
    if (middle != 0) {
      REQUIRE(place.front() == std::byte{0xee});
      REQUIRE(receiver.fetch(offer, 0, place.data(), middle) == ZeroCopy::Fetched::Done);
    }
    REQUIRE(place == mine);
  }
}

TEST_CASE("offers that were made up are refused") {
  if (!may_read()) return;
  const Reading both;
  ZeroCopy& receiver = *both.ends.acceptor->zero_copy();
  std::vector<std::byte> place(kLength);
  constexpr uint64_t kAddress = uint64_t{1} << 63, kExport = uint64_t{1} << 40;
  for (const uint64_t offer : {uint64_t{1}, kExport - 1, kExport, kExport * 77 + 5, kAddress, kAddress | 64,
                               ~uint64_t{0}, ~uint64_t{0} - kLength})
    REQUIRE(receiver.fetch(offer, 0, place.data(), kLength) == ZeroCopy::Fetched::Refused);
  const uint64_t offer = both.ends.dialler->zero_copy()->offer(both.mine.data(), kLength);
  REQUIRE(receiver.fetch(offer, size_t{1} << 62, place.data(), kLength) == ZeroCopy::Fetched::Refused);
}

TEST_CASE("nothing is read if either end forbids it") {
  const bool dialler = GENERATE(true, false);
  const Reading both(dialler ? ReadPeer::Never : ReadPeer::Always,
                     dialler ? ReadPeer::Always : ReadPeer::Never);
  REQUIRE_FALSE(both.ends.dialler->zero_copy()->can_post(both.mine.data(), kLength));
  REQUIRE(both.ends.dialler->zero_copy()->offer(both.mine.data(), kLength) == 0);
  REQUIRE_FALSE(both.ends.acceptor->zero_copy()->can_post(both.mine.data(), kLength));
}

constexpr int64_t kLong_ns = 4'000'000'000;  // longer than any preemption of a receiver here

/// Sends message `i` in the way that the connection chooses, and reports the given time for filling a slot.
ZeroCopy::PostMode send_as_said(Connection& sender, std::byte* data, uint64_t i, int64_t plain_ns,
                                int64_t streaming_ns, int& streamed) {
  fill(data, kLength, 1, i);
  std::byte* const slot = sender.acquire();
  REQUIRE(slot != nullptr);
  const auto posting = sender.zero_copy()->post_mode(data, kLength);
  if (posting == ZeroCopy::PostMode::Read) {
    REQUIRE(sender.zero_copy()->post(data, kLength, signature_of(1, i)));
    return posting;
  }
  const FillHints::Filling filling = sender.fill_hints()->filling(kLength, true);
  std::memcpy(slot, data, kLength);
  streamed += filling.streams ? 1 : 0;
  if (filling.is_timed) sender.fill_hints()->filled(filling.streams ? streaming_ns : plain_ns);
  sender.commit(kLength, signature_of(1, i));
  return posting;
}

TEST_CASE("messages take the way that was recently fastest, and the others are still tried") {
  if (!may_read()) return;
  constexpr int kMessages = 1000;
  const uint64_t first = shm::is_reading_quick() ? 1024 : 4096;  // all are read, or none where that is slow
  const auto [plain_ns, streaming_ns] =
      GENERATE(table<int64_t, int64_t>({{-kLong_ns, kLong_ns}, {kLong_ns, -kLong_ns}, {kLong_ns, kLong_ns}}));
  Reading both(ReadPeer::IfQuick, ReadPeer::IfQuick);
  auto& [ends, mine] = both;
  int plain = 0, streamed = 0, read = 0;
  for (uint64_t i = 0; i < first + kMessages; ++i) {
    const int streamed_before = streamed;
    const auto posting = send_as_said(*ends.dialler, mine.data(), i, plain_ns, streaming_ns, streamed);
    const bool is_read = posting == ZeroCopy::PostMode::Read;
    read += is_read && i >= first ? 1 : 0;
    plain += is_read || streamed != streamed_before ? 0 : 1;
    REQUIRE(fault(*ends.acceptor->peek(), kLength, 1, i) == "");
    ends.acceptor->release();
    REQUIRE(ends.dialler->flushed());
  }
  const int most = plain_ns < 0 ? plain : streaming_ns < 0 ? streamed : read;
  REQUIRE(most > kMessages * 8 / 10);
  REQUIRE((plain > 0 && read > 0));
  REQUIRE((streamed > 0) == (plain_ns > 0));  // tried only where plain stores are slow
}

TEST_CASE("a cancelled long message is not read") {
  if (!may_read()) return;
  Reading both;
  auto& [ends, mine] = both;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), kLength, {}));
  ends.dialler->zero_copy()->cancel();
  REQUIRE(ends.acceptor->peek() == nullptr);
  REQUIRE(ends.acceptor->status().code() == Code::RemoteError);
}

TEST_CASE("messages that cannot be read in place are copied instead, and so are later ones") {
  if (!may_read()) return;
  Watched watched = connect_watched(reading());
  Ends& ends = watched.ends;
  watched.pass_on();
  ends.acceptor->peek();  // learns what it can read
  std::vector<std::byte> mine(2 * kLength);
  for (uint64_t i = 0; i < 2; ++i) {
    fill(mine.data() + i * kLength, kLength, 1, i);
    REQUIRE(ends.dialler->zero_copy()->post(mine.data() + i * kLength, kLength, signature_of(1, i)));
    watched.segment.fifo(0, agreed(reading())).headers[i].note = shm::Note::of_address(nullptr);
  }
  for (uint64_t i = 0; i < 2; ++i) {
    REQUIRE(ends.acceptor->peek() == nullptr);
    REQUIRE(ends.acceptor->status().ok());
    REQUIRE_FALSE(ends.dialler->flushed());
    REQUIRE(fault(*ends.acceptor->peek(), kLength, 1, i) == "");
    ends.acceptor->release();
  }
  REQUIRE(ends.dialler->flushed());
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(mine.data(), kLength));
  REQUIRE(send_one(*ends.dialler, kLength, 1, 2));
  REQUIRE(fault(*ends.acceptor->peek(), kLength, 1, 2) == "");
}

TEST_CASE("a peer that requests a copy of a message that was never posted gets none") {
  Watched watched = connect_watched(reading());
  Ends& ends = watched.ends;
  shm::ExportWords& words = watched.segment.exports(0, agreed(reading()));
  REQUIRE(send_one(*ends.dialler, 100, 1, 0));
  for (const uint64_t message : {uint64_t{1}, uint64_t{2}, ~uint64_t{0}}) {
    words.unread = message;
    ends.dialler->flushed();
    REQUIRE(words.copied == 0);
  }
  REQUIRE(fault(*ends.acceptor->peek(), 100, 1, 0) == "");
}

TEST_CASE("a peer that requests a copy of a message whose slot has held a posted one gets none") {
  if (!may_read()) return;
  Watched watched = connect_watched(reading());
  Ends& ends = watched.ends;
  watched.pass_on();
  ends.acceptor->peek();  // learns what it can read
  const uint64_t slots = 3;
  std::vector<std::byte> mine(kLength);
  fill(mine.data(), kLength, 1, 0);
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), kLength, signature_of(1, 0)));
  REQUIRE(ends.acceptor->peek() != nullptr);
  ends.acceptor->release();
  for (uint64_t i = 1; i <= slots; ++i) REQUIRE(send_one(*ends.dialler, kLength, 1, i));
  watched.segment.exports(0, agreed(reading())).unread = slots + 1;
  ends.dialler->flushed();
  for (uint64_t i = 1; i <= slots; ++i) {
    REQUIRE(fault(*ends.acceptor->peek(), kLength, 1, i) == "");
    ends.acceptor->release();
  }
  REQUIRE(watched.segment.exports(0, agreed(reading())).copied == 0);
}

/// The acceptor, in a separate process: gets all messages.
void accept_in_child(Ends& ends, bool allowed) {
  require(allowed || forbid_reading(), "reading cannot be forbidden");
  const auto end = ends.connect(shm_transport(), reading(), false);
  require(end.ok(), end.status().message());
  for (uint64_t i = 0; i < 20; ++i) {
    require(eventually([&] { return end.value()->peek() != nullptr; }), "no message");
    const std::string wrong = fault(*end.value()->peek(), kLength, 1, i);
    require(wrong.empty(), wrong);
    end.value()->release();
  }
}

TEST_CASE("a process reads its parent's long messages, or gets copies if reading is forbidden") {
  const bool allowed = GENERATE(true, false);
  Ends ends;
  ends.dialler = require_connection(ends.connect(shm_transport(), reading(), true));
  Process child([&] { accept_in_child(ends, allowed); });
  bool has_posted = false;
  std::vector<std::byte> mine(20 * kLength);
  for (uint64_t i = 0; i < 20; ++i) {
    std::byte* const place = mine.data() + i * kLength;
    fill(place, kLength, 1, i);
    REQUIRE(eventually([&] { return ends.dialler->acquire() != nullptr; }));
    if (ends.dialler->zero_copy()->can_post(place, kLength))
      has_posted = ends.dialler->zero_copy()->post(place, kLength, signature_of(1, i));
    else
      REQUIRE(send_one(*ends.dialler, kLength, 1, i));
    REQUIRE(eventually([&] { return ends.dialler->flushed(); }));
  }
  REQUIRE(child.wait().failure() == "");
  if (!allowed) REQUIRE_FALSE(has_posted);
}

}  // namespace
}  // namespace rondo::test
