// Strangers, scanners and other versions at the door: turned away, while a start goes on undisturbed.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "catch.h"
#include "comm/handshake.h"
#include "comm/member.h"
#include "comm/unique_id.h"
#include "world.h"

namespace rondo::test {
namespace {

constexpr uint32_t kVersion = 7;  // of the protocol, as this suite knows it

UniqueId parse(const rondo_unique_id_t& id) {
  auto read = UniqueId::read(std::as_bytes(std::span(id.internal)));
  REQUIRE(read.ok());
  return read.take();
}

/// The loopback address of the process that made the id.
Address door(const UniqueId& id) {
  return Address::tcp({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, id.tcp_port);
}

/// Connects, says `bytes`, and waits until the other end hangs up.
void say(const UniqueId& id, const std::vector<std::byte>& bytes) {
  const Deadline deadline = Deadline::in_ms(10'000);
  auto fd = connect_to(door(id), deadline, {});
  REQUIRE(fd.ok());
  static_cast<void>(send_all(fd.value(), bytes, deadline, {}));  // it may hang up before all is said
  std::array<std::byte, 4096> answer;
  const Status ended = receive_all(fd.value(), answer, deadline, {});
  INFO(ended.message());
  REQUIRE(ended.code() == Code::RemoteError);
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return {raw, raw + text.size()};
}

}  // namespace

TEST_CASE("strangers are turned away and do not disturb a start") {
  rondo_unique_id_t raw;
  REQUIRE(rondo_get_unique_id(&raw) == RONDO_OK);
  const UniqueId id = parse(raw);
  std::mt19937 random(11);
  std::vector<std::byte> noise(300);
  for (auto& byte : noise) byte = static_cast<std::byte>(random());

  std::atomic<bool> joined{false};
  rondo_comm_t first = nullptr;
  rondo_status_t of_first = RONDO_IN_PROGRESS;
  std::thread rank0([&] {
    of_first = rondo_init_rank(&first, 2, &raw, 0, nullptr);
    joined = true;
  });
  say(id, bytes_of("GET / HTTP/1.1\r\nHost: example\r\nAccept: */*\r\n\r\n"));
  say(id, noise);
  const auto silent = connect_to(door(id), Deadline::in_ms(1000), {});  // connects and says nothing
  REQUIRE(silent.ok());
  REQUIRE_FALSE(joined);

  rondo_comm_t second = nullptr;
  REQUIRE(rondo_init_rank(&second, 2, &raw, 1, nullptr) == RONDO_OK);
  rank0.join();
  REQUIRE(of_first == RONDO_OK);
  std::thread end([&] { rondo_destroy(first); });
  REQUIRE(rondo_destroy(second) == RONDO_OK);
  end.join();
}

TEST_CASE("who does not know the secret is refused, and so is who does not prove it") {
  rondo_unique_id_t raw;
  REQUIRE(rondo_get_unique_id(&raw) == RONDO_OK);
  const UniqueId id = parse(raw);
  Credentials wrong = id.credentials;
  wrong.secret.bytes[0] ^= std::byte{1};
  const Purpose purpose{.kind = PurposeKind::Register, .from_rank = 0};
  const auto refused = dial(door(id), wrong, purpose, Deadline::in_ms(5000), {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message().find("secret") != std::string::npos);

  const Credentials unknown{id.credentials.session + 1, id.credentials.secret};
  const auto other = dial(door(id), unknown, purpose, Deadline::in_ms(5000), {});
  REQUIRE_FALSE(other.ok());
  CHECK(other.status().message().find("does not know this session") != std::string::npos);

  // A dialler that goes on without having checked the listener's proof: magic, version, session, then no
  // proof.
  std::vector<std::byte> forged(32 + 64);
  const uint32_t head[2] = {0x4f444e52, kVersion};
  std::memcpy(forged.data(), head, sizeof head);
  std::memcpy(forged.data() + 8, &id.credentials.session, 8);
  say(id, forged);

  rondo_comm_t alone = nullptr;  // ends the start that nobody else joins
  REQUIRE(rondo_init_rank(&alone, 1, &raw, 0, nullptr) == RONDO_OK);
  rondo_destroy(alone);
}

TEST_CASE("another version of the protocol is told apart") {
  rondo_unique_id_t raw;
  REQUIRE(rondo_get_unique_id(&raw) == RONDO_OK);
  const UniqueId id = parse(raw);
  std::vector<std::byte> hello(32);
  const uint32_t head[2] = {0x4f444e52, 999};
  std::memcpy(hello.data(), head, sizeof head);
  std::memcpy(hello.data() + 8, &id.credentials.session, 8);
  const Deadline deadline = Deadline::in_ms(5000);
  auto fd = connect_to(door(id), deadline, {});
  REQUIRE(fd.ok());
  REQUIRE(send_all(fd.value(), hello, deadline, {}).ok());
  std::array<uint32_t, 3> answer{};  // magic, version, verdict
  REQUIRE(receive_all(fd.value(), std::as_writable_bytes(std::span(answer)), deadline, {}).ok());
  CHECK(answer[0] == 0x4f444e52);
  CHECK(answer[1] == kVersion);
  CHECK(answer[2] == 1);
  rondo_comm_t alone = nullptr;
  REQUIRE(rondo_init_rank(&alone, 1, &raw, 0, nullptr) == RONDO_OK);
  rondo_destroy(alone);
}

}  // namespace rondo::test
