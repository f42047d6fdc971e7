// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/rendezvous.h"

#include <cstring>

#include "catch.h"

namespace rondo {

TEST_CASE("a unique id survives serialization to 128 bytes") {
  UniqueId id;
  id.credentials = {random_u64(), random_secret()};
  id.process = 42;
  id.tcp_port = 1234;
  id.addresses = {IpAddress{1}, IpAddress{2}};
  std::array<std::byte, UniqueId::kBytes> bytes{};
  id.write(bytes);
  const auto read = UniqueId::read(bytes);
  REQUIRE(read.ok());
  CHECK(read.value().credentials.session == id.credentials.session);
  CHECK(same_digest(read.value().credentials.secret.bytes, id.credentials.secret.bytes));
  CHECK(read.value().process == 42);
  CHECK(read.value().tcp_port == 1234);
  CHECK(read.value().addresses == id.addresses);
}

TEST_CASE("bytes that are not a unique id are refused") {
  std::array<std::byte, UniqueId::kBytes> bytes{};
  const auto read = UniqueId::read(bytes);
  REQUIRE_FALSE(read.ok());
  CHECK(read.status().code() == Code::InvalidArgument);
}

TEST_CASE("keyed hashes differ by key and by message, and agree with RFC 4231's second case") {
  const std::string text = "what do ya want for nothing?";
  Secret jefe;
  std::memcpy(jefe.bytes.data(), "Jefe", 4);  // the RFC pads shorter keys with zeros
  const Digest digest = keyed_hash(jefe, {std::as_bytes(std::span(text))});
  const unsigned char expected[4] = {0x5b, 0xdc, 0xc1, 0x46};
  CHECK(std::memcmp(digest.data(), expected, 4) == 0);
  CHECK_FALSE(same_digest(digest, keyed_hash(Secret(), {std::as_bytes(std::span(text))})));
}

}  // namespace rondo
