// SPDX-License-Identifier: Apache-2.0
// Specific to the tcp transport: fragmented streams, invalid streams, and peers that close.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "ends.h"
#include "tcp/frames.h"
#include "transports/zero_copy.h"

namespace rondo::test {
namespace {

const Transport& tcp_transport() { return *transport_by_name("tcp").value(); }

std::string bytes_of(const void* data, size_t bytes) { return {static_cast<const char*>(data), bytes}; }

tcp::StreamHello hello_of(const ConnectionParams& params, uint32_t index) {
  return {.slot_bytes = params.slot_bytes,
          .slots = static_cast<uint32_t>(params.slots),
          .sockets = static_cast<uint32_t>(params.sockets),
          .index = index};
}
std::string message(uint64_t sequence, size_t bytes, uint64_t seed) {
  const tcp::Frame frame{.bytes = bytes, .sequence = sequence, .signature = signature_of(seed, sequence)};
  std::string text = bytes_of(&frame, sizeof frame) + std::string(bytes, '\0');
  fill(reinterpret_cast<std::byte*>(text.data()) + sizeof frame, bytes, seed, sequence);
  return text;
}

/// A connection whose peer is the test itself, which writes arbitrary bytes.
struct Raw {
  ConnectionParams params = small_params(1000, 4);
  Ends ends;
  std::vector<Fd> sockets;

  explicit Raw(int count = 1) {
    params.sockets = count;
    for (int i = 0; i < count; ++i) {
      auto [near, far] = connected_sockets(Route::Tcp);
      sockets.push_back(std::move(near));
      ends.wire->put(i, std::move(far));
    }
    ends.acceptor = require_connection(ends.connect(tcp_transport(), params, false));
  }

  void write(const std::string& text, size_t socket = 0) {
    REQUIRE(::send(sockets[socket].get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  void greet() {
    for (uint32_t i = 0; i < sockets.size(); ++i) {
      const tcp::StreamHello hello = hello_of(params, i);
      write(bytes_of(&hello, sizeof hello), i);
    }
  }
  Status failure() {
    REQUIRE(eventually([&] {
      REQUIRE(ends.acceptor->peek() == nullptr);
      return !ends.acceptor->status().ok();
    }));
    return ends.acceptor->status();
  }
};

bool says(const Status& status, const std::string& words) {
  UNSCOPED_INFO(status.message());
  return status.code() == Code::RemoteError && status.message().find(words) != std::string::npos;
}

TEST_CASE("tcp: a stream that does not begin with a Hello is refused") {
  Raw raw;
  tcp::StreamHello hello = hello_of(raw.params, 0);
  SECTION("garbage") {
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    REQUIRE(says(raw.failure(), "rank 0 began with 0x20544547"));
  }
  SECTION("another version") {
    hello.version = 3;
    raw.write(bytes_of(&hello, sizeof hello));
    REQUIRE(says(raw.failure(), "rank 0 speaks version 3 of the tcp transport; this end speaks 1"));
  }
  SECTION("another socket") {
    hello.index = 5;
    raw.write(bytes_of(&hello, sizeof hello));
    REQUIRE(says(raw.failure(), "rank 0 calls socket 0 number 5"));
  }
  SECTION("other numbers of sockets") {
    hello.sockets = 7;
    raw.write(bytes_of(&hello, sizeof hello));
    const Status status = raw.failure();
    REQUIRE(status.code() == Code::Mismatch);
    REQUIRE(status.message().find("sockets is 1 at this end and 7 at the other") != std::string::npos);
  }
  REQUIRE(raw.ends.acceptor->acquire() == nullptr);
  REQUIRE(raw.ends.acceptor->flushed());  // nothing was sent
}

TEST_CASE("tcp: ends with different numbers of sockets learn it, whichever waits for more") {
  ConnectionParams of_dialler = small_params();
  ConnectionParams of_acceptor = small_params();
  of_dialler.sockets = GENERATE(1, 3);
  Ends ends;
  ends.dialler = require_connection(ends.connect(tcp_transport(), of_dialler, true));
  ends.acceptor = require_connection(ends.connect(tcp_transport(), of_acceptor, false));
  REQUIRE(eventually([&] {
    ends.dialler->peek();
    ends.acceptor->peek();
    return !ends.dialler->status().ok() && !ends.acceptor->status().ok();
  }));
  REQUIRE(ends.dialler->status().code() == Code::Mismatch);
  REQUIRE(ends.acceptor->status().code() == Code::Mismatch);
}

TEST_CASE("tcp: every field of a frame is checked") {
  Raw raw;
  raw.greet();
  tcp::Frame frame{.bytes = 10, .sequence = 0};
  std::string words;
  SECTION("magic") {
    frame.magic = 0x1234;
    words = "message 0 from rank 0 begins with 0x1234";
  }
  SECTION("bytes") {
    frame.bytes = 1001;
    words = "message 0 from rank 0 says 1001 bytes; a slot has 1000";
  }
  SECTION("far too many bytes") {
    frame.bytes = ~uint64_t{0};
    words = "says 18446744073709551615 bytes";
  }
  SECTION("sequence") {
    frame.sequence = 1;
    words = "rank 0 sent message 1 instead of message 0";
  }
  raw.write(bytes_of(&frame, sizeof frame) + std::string(100, 'x'));
  REQUIRE(says(raw.failure(), words));
}

TEST_CASE("tcp: a stream that ends is an error that says where") {
  Raw raw;
  raw.greet();
  SECTION("in a header") {
    raw.write(message(0, 100, 1).substr(0, 30));
    raw.sockets[0].close();
    REQUIRE(says(raw.failure(), "rank 0 closed the connection in the middle of a message"));
  }
  SECTION("in the bytes") {
    raw.write(message(0, 100, 1).substr(0, 100));
    raw.sockets[0].close();
    REQUIRE(says(raw.failure(), "in the middle of a message"));
  }
  SECTION("between messages") {
    raw.ends.acceptor->peek();
    Fd& socket = raw.sockets[0];
    char hello[sizeof(tcp::StreamHello)];
    REQUIRE(::recv(socket.get(), hello, sizeof hello, MSG_WAITALL) == sizeof hello);
    socket.close();
    const Status status = raw.failure();
    REQUIRE(says(status, "rank 0 closed the connection"));
    REQUIRE_FALSE(says(status, "in the middle"));
  }
  SECTION("by a reset") {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    REQUIRE(::setsockopt(raw.sockets[0].get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    raw.ends.acceptor->peek();
    raw.sockets[0].close();
    REQUIRE(says(raw.failure(), "receiving from rank 0: Connection reset by peer"));
  }
  REQUIRE(raw.ends.acceptor->acquire() == nullptr);
}

TEST_CASE("tcp: sending to a closed peer becomes a status") {
  Raw raw;
  raw.greet();
  REQUIRE(eventually([&] { return raw.ends.acceptor->acquire() != nullptr; }));
  raw.sockets.clear();
  REQUIRE(eventually([&] {
    send_one(*raw.ends.acceptor, 1000, 1, 0);
    return !raw.ends.acceptor->status().ok();
  }));
  REQUIRE(says(raw.ends.acceptor->status(), "sending to rank 0: "));
  REQUIRE_FALSE(raw.ends.acceptor->flushed());
}

TEST_CASE("tcp: a stream that arrives byte by byte delivers the same messages") {
  Raw raw;
  raw.greet();
  uint64_t received = 0;
  for (uint64_t sequence = 0; sequence < 5; ++sequence) {
    for (const char byte : message(sequence, 37 * sequence, 4)) {
      raw.write(std::string(1, byte));
      if (sequence % 2 == 0) raw.ends.acceptor->flushed();
      raw.ends.acceptor->peek();
    }
    REQUIRE(eventually([&] { return raw.ends.acceptor->peek() != nullptr; }));
    REQUIRE(fault(*raw.ends.acceptor->peek(), 37 * received, 4, received) == "");
    raw.ends.acceptor->release();
    ++received;
  }
  REQUIRE(raw.ends.acceptor->status().ok());
}

TEST_CASE("tcp: more messages at once than there are slots wait their turn") {
  Raw raw;
  raw.greet();
  std::string all;
  for (uint64_t sequence = 0; sequence < 40; ++sequence) all += message(sequence, sequence * 25, 4);
  raw.write(all);
  for (uint64_t sequence = 0; sequence < 40; ++sequence) {
    REQUIRE(eventually([&] { return raw.ends.acceptor->peek() != nullptr; }));
    REQUIRE(fault(*raw.ends.acceptor->peek(), sequence * 25, 4, sequence) == "");
    raw.ends.acceptor->release();
  }
}

TEST_CASE("tcp: message k is sent whole on socket k modulo the number of sockets") {
  Raw raw(3);
  raw.greet();
  for (uint64_t i = 0; i < 4; ++i)
    REQUIRE(eventually([&] { return send_one(*raw.ends.acceptor, 10 + i, 6, i); }));
  for (uint32_t socket = 0; socket < 3; ++socket) {
    const tcp::StreamHello hello = hello_of(raw.params, socket);
    std::string expected = bytes_of(&hello, sizeof hello);
    for (uint64_t i = socket; i < 4; i += 3) expected += message(i, 10 + i, 6);
    std::string got(expected.size() + 1, '\0');
    REQUIRE(eventually([&] {
      return ::recv(raw.sockets[socket].get(), got.data(), got.size(), MSG_PEEK | MSG_DONTWAIT) ==
             static_cast<ssize_t>(expected.size());
    }));
    got.pop_back();
    REQUIRE(got == expected);
  }
}

TEST_CASE("tcp: what arrived on one socket counts although another has closed") {
  Raw raw(2);
  raw.greet();
  raw.write(message(0, 10, 2), 0);
  raw.ends.acceptor->peek();
  REQUIRE(send_one(*raw.ends.acceptor, 10, 2, 0));
  raw.sockets[0].close();
  REQUIRE(eventually([&] {
    send_one(*raw.ends.acceptor, 1000, 2, 0);
    raw.ends.acceptor->flushed();
    return !raw.ends.acceptor->status().ok();
  }));
  raw.write(message(1, 10, 2), 1);
  for (uint64_t i = 0; i < 2; ++i) {
    REQUIRE(eventually([&] { return raw.ends.acceptor->peek() != nullptr; }));
    REQUIRE(fault(*raw.ends.acceptor->peek(), 10, 2, i) == "");
    raw.ends.acceptor->release();
  }
}

TEST_CASE("tcp: messages that wait for a slot still count after their stream has ended") {
  Raw raw;
  raw.greet();
  std::string all;
  for (uint64_t sequence = 0; sequence < 10; ++sequence) all += message(sequence, 20, 8);
  REQUIRE(eventually([&] { return send_one(*raw.ends.acceptor, 10, 1, 0); }));
  raw.write(all);
  char sent[sizeof(tcp::StreamHello) + sizeof(tcp::Frame) + 10];
  REQUIRE(::recv(raw.sockets[0].get(), sent, sizeof sent, MSG_WAITALL) == sizeof sent);
  raw.sockets[0].close();
  REQUIRE(eventually([&] {
    while (send_one(*raw.ends.acceptor, 1000, 1, 0)) continue;
    raw.ends.acceptor->flushed();
    return !raw.ends.acceptor->status().ok();
  }));
  for (uint64_t sequence = 0; sequence < 10; ++sequence) {
    REQUIRE(eventually([&] { return raw.ends.acceptor->peek() != nullptr; }));
    REQUIRE(fault(*raw.ends.acceptor->peek(), 20, 8, sequence) == "");
    raw.ends.acceptor->release();
  }
}

TEST_CASE("tcp: flushed waits for the other end's greeting") {
  Raw raw;
  REQUIRE(raw.ends.acceptor->flushed());
  REQUIRE(eventually([&] { return send_one(*raw.ends.acceptor, 10, 1, 0); }));
  for (int i = 0; i < 100; ++i) REQUIRE_FALSE(raw.ends.acceptor->flushed());
  raw.greet();
  REQUIRE(eventually([&] { return raw.ends.acceptor->flushed(); }));
}

TEST_CASE("tcp: nothing posted is sent after it was cancelled") {
  ConnectionParams params = small_params(1 << 20, 16);
  Ends ends = connect_ends(tcp_transport(), params);
  auto memory = std::make_unique<std::vector<std::byte>>(1 << 20);
  while (ends.dialler->zero_copy()->post(memory->data(), memory->size(), {})) continue;
  ends.dialler->zero_copy()->cancel();
  memory.reset();
  for (int i = 0; i < 100; ++i) {
    REQUIRE_FALSE(ends.dialler->flushed());
    REQUIRE(ends.dialler->acquire() == nullptr);
    ends.dialler->peek();
    if (ends.acceptor->peek()) ends.acceptor->release();
  }
  REQUIRE(says(ends.dialler->status(), "were cancelled"));
}

TEST_CASE("tcp: an expected message is received directly in place, and no other is") {
  Raw raw;
  raw.greet();
  const std::string whole = message(0, 900, 3);
  std::vector<std::byte> place(901, std::byte{0x5a});
  const auto arrives = [&] { return eventually([&] { return raw.ends.acceptor->peek() != nullptr; }); };
  const auto untouched = [&] {
    return std::count(place.begin(), place.end(), std::byte{0x5a}) == std::ssize(place);
  };
  SECTION("said before anything has come") {
    raw.ends.acceptor->zero_copy()->expect(place.data(), 900, signature_of(3, 0));
    raw.write(whole);
    REQUIRE(arrives());
    REQUIRE(raw.ends.acceptor->peek()->data == place.data());
  }
  SECTION("said when some of it has come") {
    raw.write(whole.substr(0, 300));
    for (int i = 0; i < 1000; ++i) REQUIRE(raw.ends.acceptor->peek() == nullptr);
    raw.ends.acceptor->zero_copy()->expect(place.data(), 900, signature_of(3, 0));
    raw.write(whole.substr(300));
    REQUIRE(arrives());
    REQUIRE(raw.ends.acceptor->peek()->data == place.data());
  }
  SECTION("said too late") {
    raw.write(whole);
    REQUIRE(arrives());
    raw.ends.acceptor->zero_copy()->expect(place.data(), 900, signature_of(3, 0));
    REQUIRE(untouched());
  }
  SECTION("another length") {
    raw.ends.acceptor->zero_copy()->expect(place.data(), 901, signature_of(3, 0));
    raw.write(whole);
    REQUIRE(arrives());
    REQUIRE(untouched());
  }
  SECTION("another signature") {
    raw.ends.acceptor->zero_copy()->expect(place.data(), 900, signature_of(3, 1));
    raw.write(whole);
    REQUIRE(arrives());
    REQUIRE(untouched());
  }
  REQUIRE(fault(*raw.ends.acceptor->peek(), 900, 3, 0) == "");
  raw.ends.acceptor->release();
  raw.write(message(1, 900, 3));
  REQUIRE(arrives());
  REQUIRE(raw.ends.acceptor->peek()->data != place.data());
  REQUIRE(fault(*raw.ends.acceptor->peek(), 900, 3, 1) == "");
}

TEST_CASE("tcp: nothing is received into an expected place after it was cancelled") {
  Raw raw;
  raw.greet();
  const std::string whole = message(0, 900, 3);
  auto place = std::make_unique<std::vector<std::byte>>(900);
  raw.ends.acceptor->zero_copy()->expect(place->data(), 900, signature_of(3, 0));
  raw.write(whole.substr(0, 300));
  for (int i = 0; i < 1000; ++i) REQUIRE(raw.ends.acceptor->peek() == nullptr);
  raw.ends.acceptor->zero_copy()->cancel();
  place.reset();
  raw.write(whole.substr(300));
  for (int i = 0; i < 1000; ++i) REQUIRE(raw.ends.acceptor->peek() == nullptr);
}

TEST_CASE("tcp: random damage to a stream gives a status or is harmless") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{300}));
  CAPTURE(seed);
  Raw raw;
  const tcp::StreamHello hello = hello_of(raw.params, 0);
  std::string stream = bytes_of(&hello, sizeof hello);
  for (uint64_t i = 0; i < 6; ++i) stream += message(i, mix(seed, i) % 300, seed);
  const uint64_t bits = mix(seed, 99);
  for (uint64_t i = 0; i <= bits % 3; ++i) {
    // Aim mostly at the Hello and the first Frame, where damage has an effect.
    const size_t reach =
        mix(seed, 200 + i) % 2 == 0 ? sizeof(tcp::StreamHello) + sizeof(tcp::Frame) : stream.size();
    stream[mix(seed, 100 + i) % reach] ^= static_cast<char>(1 << (bits >> 8) % 8);
  }
  raw.write(stream.substr(0, 1 + mix(seed, 300) % stream.size()));
  raw.sockets.clear();
  REQUIRE(eventually([&] {
    if (const auto arrival = raw.ends.acceptor->peek()) {
      REQUIRE(arrival->bytes <= raw.params.slot_bytes);
      std::vector<std::byte> copy(arrival->data, arrival->data + arrival->bytes);
      raw.ends.acceptor->release();
    }
    return !raw.ends.acceptor->status().ok();
  }));
}

/// The congestion control algorithm of a socket.
std::string congestion_rule(const Fd& socket) {
  char rule[16] = {};
  socklen_t length = sizeof rule;
  REQUIRE(::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, rule, &length) == 0);
  return rule;
}

TEST_CASE("tcp: sockets do not wait for more data, nor, from the first long message on, for pacing") {
  const ConnectionParams params{.slot_bytes = size_t{64} * 1024, .sockets = 1};
  Ends ends;
  ends.dialler = require_connection(ends.connect(tcp_transport(), params, true));
  Fd socket = ends.wire->take(0);
  const Fd watched(::dup(socket.get()));
  ends.wire->put(0, std::move(socket));
  const std::string usual = congestion_rule(watched);
  ends.acceptor = require_connection(ends.connect(tcp_transport(), params, false));
  const std::vector<std::byte> data(params.slot_bytes);

  REQUIRE(ends.acceptor->zero_copy()->post(data.data(), 64, Signature()));
  int on = 0;
  socklen_t length = sizeof on;
  REQUIRE(::getsockopt(watched.get(), IPPROTO_TCP, TCP_NODELAY, &on, &length) == 0);
  REQUIRE(on != 0);
  REQUIRE(congestion_rule(watched) == usual);

  REQUIRE(ends.acceptor->zero_copy()->post(data.data(), data.size(), Signature()));
  REQUIRE(congestion_rule(watched) == "reno");  // nothing leaves the host, so pacing is unnecessary
}

}  // namespace
}  // namespace rondo::test
