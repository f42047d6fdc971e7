// SPDX-License-Identifier: Apache-2.0
// VerbsPort: the start's table carries it unchanged, and refuses what is no port.
#include "verbs/port.h"

#include <algorithm>
#include <span>

#include "catch.h"
#include "ports.h"
#include "seed.h"

namespace rondo::test {
namespace {

using verbs::VerbsPort;
using Bytes = std::vector<std::byte>;

Bytes encoded(const std::vector<VerbsPort>& ports) {
  ByteWriter writer;
  verbs::write_ports(writer, ports);
  return writer.bytes();
}

std::vector<VerbsPort> random_ports(XorShift& random) {
  std::vector<VerbsPort> ports(static_cast<size_t>(draw(random, 4)));
  for (VerbsPort& port : ports) port = random_port(random);
  return ports;
}

/// Whether the bytes are read as ports; if so, the ports must be written as the same bytes.
bool is_read(const Bytes& bytes) {
  ByteReader reader(bytes);
  const auto ports = verbs::read_ports(reader);
  if (!reader.ok()) return false;
  const Bytes again = encoded(ports);
  REQUIRE(again.size() <= bytes.size());
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin()));
  return true;
}

/// Whether a port that is changed in this way is still read.
template <typename Change>
bool is_read_after(Change change) {
  std::vector<VerbsPort> ports{roce_port("mlx5_0", {roce_gid(3, "10.0.0.1", 24)})};
  REQUIRE(is_read(encoded(ports)));
  change(ports[0]);
  return is_read(encoded(ports));
}

}  // namespace

TEST_CASE("ports are read as they were written") {
  XorShift random(test_seed(1), 0);
  for (int trial = 0; trial < 3000; ++trial) {
    const auto ports = random_ports(random);
    const Bytes bytes = encoded(ports);
    ByteReader reader(bytes);
    REQUIRE(verbs::read_ports(reader) == ports);
    REQUIRE(reader.ok());
  }
}

TEST_CASE("a table that ends early is refused, wherever it ends") {
  XorShift random(test_seed(2), 0);
  for (int trial = 0; trial < 200; ++trial) {
    const Bytes bytes = encoded(random_ports(random));
    for (size_t length = 0; length < bytes.size(); ++length)
      REQUIRE_FALSE(is_read(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length))));
  }
}

TEST_CASE("changed bytes are refused or are what their ports are written as") {
  XorShift random(test_seed(3), 0);
  int read = 0;
  constexpr int kTrials = 20'000;
  for (int trial = 0; trial < kTrials; ++trial) {
    Bytes bytes = encoded(random_ports(random));
    for (int change = 0; change <= draw(random, 3); ++change)
      bytes[static_cast<size_t>(draw(random, static_cast<int>(bytes.size())))] =
          static_cast<std::byte>(draw(random, 256));
    read += is_read(bytes) ? 1 : 0;
  }
  CHECK(read > kTrials / 100);
  CHECK(read < kTrials - kTrials / 100);
}

TEST_CASE("random bytes are refused or are what their ports are written as") {
  XorShift random(test_seed(4), 0);
  for (int trial = 0; trial < 20'000; ++trial) {
    Bytes bytes(static_cast<size_t>(draw(random, 200)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(draw(random, trial % 2 == 0 ? 256 : 5));
    is_read(bytes);
  }
}

TEST_CASE("a value that no port has is refused") {
  CHECK(is_read_after([](VerbsPort&) {}));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.device = ""; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.device = "mlx5\n0"; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.device = std::string(64, 'm'); }));
  CHECK(is_read_after([](VerbsPort& port) { port.device = std::string(63, 'm'); }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.number = 0; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.rate = -1; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.rate = 1.0 / 0.0; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.rate = 0.0 / 0.0; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.gids[0].prefix_bits = 129; }));
  CHECK(is_read_after([](VerbsPort& port) { port.gids[0].prefix_bits = 128; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.gids[0].type = static_cast<verbs::GidType>(3); }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.gids[0].interface = "sixteen_letters_"; }));
  CHECK_FALSE(is_read_after([](VerbsPort& port) { port.gids[0].interface = "eth 0"; }));
}

TEST_CASE("a port with four GIDs has at most 200 bytes in the table") {
  VerbsPort port = roce_port("mlx5_bond_0", {});
  for (uint8_t index = 0; index < 4; ++index)
    port.gids.push_back(roce_gid(index, "10.0.0.1", 24, "bond0.100"));
  CHECK(encoded({port}).size() <= 200);
}

TEST_CASE("rails are numbered by the natural order of names") {
  std::vector<VerbsPort> ports;
  for (const char* device : {"mlx5_10", "mlx5_2", "bnxt_re1", "mlx5_2", "mlx5_0"}) {
    ports.push_back(roce_port(device, {}));
    ports.back().number = ports.size() == 2 ? 2 : 1;
  }
  verbs::number_rails(ports);
  const std::vector<int> expected{4, 3, 0, 2, 1};
  for (size_t i = 0; i < ports.size(); ++i) CHECK(ports[i].rail == expected[i]);
}

TEST_CASE("a GID's text has what one looks it up by") {
  CHECK(verbs::text(roce_gid(3, "10.0.0.1", 24)) == "10.0.0.1 (GID 3, RoCE v2, eth0)");
  CHECK(verbs::text(verbs::Gid{.raw = address("fe80::1")}) == "fe80::1 (GID 0)");
  CHECK(roce_port("mlx5_0", {}).name() == "mlx5_0:1");
}

}  // namespace rondo::test
