// SPDX-License-Identifier: Apache-2.0
// Strangers, port scanners and other protocol versions: rejected, without disturbing a start in progress.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "bootstrap/peer_info.h"
#include "catch.h"
#include "folder.h"
#include "net/handshake.h"
#include "seed.h"
#include "start.h"
#include "world.h"

namespace rondo::test {
namespace {

constexpr uint32_t kVersion = 20;  // of the protocol, as this test knows it
constexpr size_t kHelloBytes = 32, kAnswerBytes = 64, kClaimBytes = 128, kReceiptBytes = 40, kProofBytes = 32;

/// The loopback address of the process that created the id.
Address door(const UniqueId& id) {
  return Address::tcp({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, id.tcp_port);
}

Result<Fd> connected(const Address& address, const Deadline& deadline) {
  RONDO_TRY_ASSIGN(Fd fd, socket_for(address));
  RONDO_TRY(connect_to(fd, address, deadline, {}));
  return fd;
}

/// Connects, sends `bytes`, and waits until the other end closes the connection.
void say(const UniqueId& id, const std::vector<std::byte>& bytes) {
  const Deadline deadline = Deadline::in_ms(10'000);
  auto fd = connected(door(id), deadline);
  REQUIRE(fd.ok());
  static_cast<void>(send_all(fd.value(), bytes, deadline, {}));  // it may close before everything is sent
  std::array<std::byte, 4096> answer;
  const Status ended = receive_all(fd.value(), answer, deadline, {});
  INFO(ended.message());
  REQUIRE(ended.code() == Code::RemoteError);
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return {raw, raw + text.size()};
}

/// Magic, version, session, nonce.
std::vector<std::byte> hello_for(const UniqueId& id, uint32_t version = kVersion) {
  std::vector<std::byte> hello(kHelloBytes);
  const uint32_t head[2] = {0x4f444e52, version};
  std::memcpy(hello.data(), head, sizeof head);
  std::memcpy(hello.data() + 8, &id.credentials.session, 8);
  return hello;
}

std::vector<std::byte> hear(const Fd& fd, size_t bytes) {
  std::vector<std::byte> heard(bytes);
  REQUIRE(receive_all(fd, heard, Deadline::in_ms(10'000), {}).ok());
  return heard;
}

void tell(const Fd& fd, const std::vector<std::byte>& bytes) {
  REQUIRE(send_all(fd, bytes, Deadline::in_ms(10'000), {}).ok());
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Status of a dial to a listener that behaves as `listener` does.
Status dial_fake(const Credentials& credentials, const std::function<void(const Fd&)>& listener) {
  uint16_t port = 0;
  auto listening = listen_tcp(port);
  REQUIRE(listening.ok());
  Status fared;
  std::thread dialler([&] {
    const ConnectRequest purpose{.kind = ConnectKind::Inquiry, .from_rank = 1};
    fared = dial(Address::tcp(kLoopback, port), credentials, purpose, Deadline::in_ms(10'000), {}).status();
  });
  pollfd ready{listening.value().get(), POLLIN, 0};
  CHECK(::poll(&ready, 1, 10'000) == 1);
  {
    Address from;
    const Fd fd = accept_pending(listening.value(), from);
    listener(fd);
  }
  dialler.join();
  return fared;
}

}  // namespace

TEST_CASE("strangers are rejected and do not disturb a start") {
  rondo_unique_id_t raw;
  REQUIRE(rondo_get_unique_id(&raw) == RONDO_OK);
  const UniqueId id = parse(raw);
  std::mt19937 random(test_seed(11));
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
  const auto silent = connected(door(id), Deadline::in_ms(1000));  // connects and sends nothing
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

TEST_CASE("a peer with a wrong secret is refused, and so is one without a proof of the right one") {
  rondo_unique_id_t raw;
  REQUIRE(rondo_get_unique_id(&raw) == RONDO_OK);
  const UniqueId id = parse(raw);
  Credentials wrong = id.credentials;
  wrong.secret.bytes[0] ^= std::byte{1};
  const ConnectRequest purpose{.kind = ConnectKind::Register, .from_rank = 0};
  const auto refused = dial(door(id), wrong, purpose, Deadline::in_ms(5000), {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message().find("secret") != std::string::npos);

  const Credentials unknown{id.credentials.session + 1, id.credentials.secret};
  const auto other = dial(door(id), unknown, purpose, Deadline::in_ms(5000), {});
  REQUIRE_FALSE(other.ok());
  CHECK(other.status().message().find("does not know this session") != std::string::npos);

  std::vector<std::byte> forged = hello_for(id);  // followed by a claim without a proof
  forged.resize(kHelloBytes + kClaimBytes);
  say(id, forged);

  rondo_comm_t alone = nullptr;  // ends the start, which no other rank joins
  REQUIRE(rondo_init_rank(&alone, 1, &raw, 0, nullptr) == RONDO_OK);
  rondo_destroy(alone);
}

TEST_CASE("another version of the protocol is recognized") {
  rondo_unique_id_t raw;
  REQUIRE(rondo_get_unique_id(&raw) == RONDO_OK);
  const UniqueId id = parse(raw);
  const Deadline deadline = Deadline::in_ms(5000);
  auto fd = connected(door(id), deadline);
  REQUIRE(fd.ok());
  REQUIRE(send_all(fd.value(), hello_for(id, 999), deadline, {}).ok());
  std::array<uint32_t, 3> answer{};  // magic, version, verdict
  REQUIRE(receive_all(fd.value(), std::as_writable_bytes(std::span(answer)), deadline, {}).ok());
  CHECK(answer[0] == 0x4f444e52);
  CHECK(answer[1] == kVersion);
  CHECK(answer[2] == 1);
  rondo_comm_t alone = nullptr;
  REQUIRE(rondo_init_rank(&alone, 1, &raw, 0, nullptr) == RONDO_OK);
  rondo_destroy(alone);
}

TEST_CASE("a listener sends nothing that would let a stranger check guesses of the secret") {
  const Start start;
  auto fd = connected(door(start.id), Deadline::in_ms(5000));
  REQUIRE(fd.ok());
  tell(fd.value(), hello_for(start.id));
  const auto answer = hear(fd.value(), kAnswerBytes);
  CHECK(is_zero(std::span(answer).subspan(8, 8)));  // no objection so far
  CHECK(is_zero(std::span(answer).subspan(32)));    // nothing after the nonce
  tell(fd.value(), std::vector<std::byte>(kClaimBytes));
  const auto receipt = hear(fd.value(), kReceiptBytes);
  CHECK(receipt[0] == std::byte{3});  // wrong secret
  CHECK(is_zero(std::span(receipt).subspan(8)));
  std::byte more{};
  CHECK_FALSE(receive_all(fd.value(), {&more, 1}, Deadline::in_ms(5000), {}).ok());
}

TEST_CASE("a listener that echoes the dialler's own proof is rejected") {
  const Start start;
  const Status fared = dial_fake(start.id.credentials, [](const Fd& fd) {
    hear(fd, kHelloBytes);
    std::vector<std::byte> answer(kAnswerBytes);
    const uint32_t head[2] = {0x4f444e52, kVersion};
    std::memcpy(answer.data(), head, sizeof head);
    tell(fd, answer);
    const auto claim = hear(fd, kClaimBytes);
    std::vector<std::byte> receipt(kReceiptBytes);
    std::copy(claim.end() - kProofBytes, claim.end(), receipt.end() - kProofBytes);
    tell(fd, receipt);
  });
  CHECK(fared.code() == Code::InvalidUsage);
  CHECK(fared.message().find("has a different secret") != std::string::npos);
}

TEST_CASE("a proof is valid only for its own conversation, unmodified") {
  const Start start;
  std::vector<std::byte> hello, claim;
  // A man in the middle, which can change one byte of the claim or of the receipt.
  const auto relay = [&](size_t changed_in_claim, size_t changed_in_receipt) {
    return dial_fake(start.id.credentials, [&](const Fd& fd) {
      const auto real = connected(door(start.id), Deadline::in_ms(5000));
      REQUIRE(real.ok());
      hello = hear(fd, kHelloBytes);
      tell(real.value(), hello);
      tell(fd, hear(real.value(), kAnswerBytes));
      claim = hear(fd, kClaimBytes);
      auto passed = claim;
      if (changed_in_claim < kClaimBytes) passed[changed_in_claim] ^= std::byte{1};
      tell(real.value(), passed);
      auto receipt = hear(real.value(), kReceiptBytes);
      if (changed_in_receipt < kReceiptBytes) receipt[changed_in_receipt] ^= std::byte{1};
      tell(fd, receipt);
    });
  };
  CHECK(relay(kClaimBytes, kReceiptBytes).ok());
  CHECK(relay(0, kReceiptBytes).code() == Code::InvalidUsage);                // the request
  CHECK(relay(40, kReceiptBytes).code() == Code::InvalidUsage);               // the identity
  CHECK(relay(kClaimBytes - 1, kReceiptBytes).code() == Code::InvalidUsage);  // the proof
  CHECK(relay(kClaimBytes, kReceiptBytes - 1).code() == Code::InvalidUsage);

  auto fd = connected(door(start.id), Deadline::in_ms(5000));
  REQUIRE(fd.ok());
  tell(fd.value(), hello);  // a replay
  hear(fd.value(), kAnswerBytes);
  tell(fd.value(), claim);
  CHECK(hear(fd.value(), kReceiptBytes)[0] == std::byte{3});
}

TEST_CASE("many strangers produce one line in the log, with a count") {
  const Folder folder;
  const std::string path = folder / "log";
  expect_success(run_world({.nranks = 1}, [&](Rank&) {
    const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(log >= 0 && ::dup2(log, STDERR_FILENO) >= 0, "no log");
    const Start start;
    for (int i = 0; i < 100; ++i) say(start.id, bytes_of("GET / HTTP/1.1\r\nHost: example\r\n\r\n"));
  }));
  std::ifstream log(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(line);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("its first bytes are not Rondo's (from ") != std::string::npos);
  CHECK(lines[1].find("99 more like this") != std::string::npos);
}

}  // namespace rondo::test
