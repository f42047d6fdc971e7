// SPDX-License-Identifier: Apache-2.0
// The messages of the handshake: what is sent is read again, and nonsense is found by field.
#include "verbs/wire.h"

#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "catch.h"
#include "seed.h"

namespace rondo::verbs {
namespace {

constexpr AgreedParams kParams{.slot_bytes = 1000, .slots = 3};

VerbsPort some_port() {
  VerbsPort port{.device = "mlx5_0",
                 .number = 2,
                 .infiniband = false,
                 .lid = 7,
                 .subnet_prefix = 9,
                 .mtu = 1024,
                 .rate = 200,
                 .numa = 1};
  port.gids.push_back({.raw = {1}, .index = 0, .type = GidType::RoceV1, .interface = "eth0"});
  port.gids.push_back({.raw = {2}, .index = 1, .type = GidType::RoceV2, .interface = "eth0"});
  return port;
}

TEST_CASE("ports are read as they were written, with GIDs of RoCE v1 behind the others") {
  const PortOffer offer = offer_of(kParams, {some_port(), some_port()});
  REQUIRE(check(offer, kParams).ok());
  const std::vector<VerbsPort> read = ports_of(offer);
  REQUIRE(read.size() == 2);
  const VerbsPort port = some_port();
  CHECK(read[1].device == port.device);
  CHECK(read[1].number == port.number);
  CHECK(read[1].infiniband == port.infiniband);
  CHECK(read[1].lid == port.lid);
  CHECK(read[1].subnet_prefix == port.subnet_prefix);
  CHECK(read[1].mtu == port.mtu);
  CHECK(read[1].rate == port.rate);
  CHECK(read[1].numa == port.numa);
  REQUIRE(read[1].gids.size() == 2);
  CHECK(read[1].gids[0].type == GidType::RoceV2);
  CHECK(read[1].gids[0].raw == port.gids[1].raw);
  CHECK(read[1].gids[0].index == 1);
  CHECK(read[1].gids[0].interface == "eth0");
  CHECK(read[1].gids[1].type == GidType::RoceV1);
}

TEST_CASE("ports and GIDs beyond what an offer holds are left out, those of RoCE v1 first") {
  VerbsPort port = some_port();
  for (uint8_t i = 2; i < 60; ++i) port.gids.push_back({.raw = {i}, .index = i, .type = GidType::RoceV1});
  port.gids.push_back({.raw = {60}, .index = 60, .type = GidType::RoceV2});
  const PortOffer offer = offer_of(kParams, std::vector<VerbsPort>(20, port));
  REQUIRE(check(offer, kParams).ok());
  const std::vector<VerbsPort> read = ports_of(offer);
  REQUIRE(read.size() == PortOffer::kMaxPorts);
  REQUIRE(read[0].gids.size() == WirePort::kMaxGids);
  CHECK(read[0].gids[1].index == 60);
}

/// The complaint about an offer with one change.
std::string refused(const std::function<void(PortOffer&)>& change) {
  PortOffer offer = offer_of(kParams, {some_port()});
  change(offer);
  const Status status = check(offer, kParams);
  REQUIRE(status.code() == Code::RemoteError);
  return status.message();
}

TEST_CASE("nonsense in an offer is an error that names the field") {
  const std::string says = "the peer's handshake has ";
  CHECK(refused([](PortOffer& o) { o.magic = 5; }) == says + "5 in the field magic of the offer");
  CHECK(refused([](PortOffer& o) { o.version = 2; }) == says + "2 in the field version");
  CHECK(refused([](PortOffer& o) { o.refusal.fill('x'); }) == says + "120 in the field refusal");
  CHECK(refused([](PortOffer& o) { o.refusal[0] = '\n'; }) == says + "10 in the field refusal");
  CHECK(refused([](PortOffer& o) { o.port_count = 9; }) == says + "9 in the field port_count");
  CHECK(refused([](PortOffer& o) { o.ports[0].device[3] = '\x1b'; }) == says + "27 in the field device");
  CHECK(refused([](PortOffer& o) { o.ports[0].number = 0; }) == says + "0 in the field port number");
  CHECK(refused([](PortOffer& o) { o.ports[0].infiniband = 2; }) == says + "2 in the field infiniband");
  CHECK(refused([](PortOffer& o) { o.ports[0].mtu = 0; }) == says + "0 in the field mtu");
  CHECK(refused([](PortOffer& o) { o.ports[0].mtu = 1500; }) == says + "1500 in the field mtu");
  CHECK(refused([](PortOffer& o) { o.ports[0].mtu = 8192; }) == says + "8192 in the field mtu");
  CHECK(refused([](PortOffer& o) { o.ports[0].numa = -2; }) == says + "4294967294 in the field numa");
  CHECK(refused([](PortOffer& o) { o.ports[0].gid_count = 17; }) == says + "17 in the field gid_count");
  CHECK(refused([](PortOffer& o) { o.ports[0].gids[1].type = 3; }) == says + "3 in the field type of a GID");
  CHECK(refused([](PortOffer& o) { o.ports[0].gids[0].interface.fill('e'); }) ==
        says + "101 in the field interface");
}

TEST_CASE("nonsense in a contact or in the last message is an error that names the field") {
  const auto refusal = [](PairContact contact) { return check(contact, kParams).message(); };
  const std::string says = "the peer's handshake has ";
  PairContact good;
  good.queue_pair = 1;
  good.slots_at = 4096;
  REQUIRE(check(good, kParams).ok());
  PairContact bad = good;
  bad.magic = 1;
  CHECK(refusal(bad) == says + "1 in the field magic of the contact");
  bad = good;
  bad.queue_pair = 0x1000000;
  CHECK(refusal(bad) == says + "16777216 in the field queue_pair");
  bad.queue_pair = 0;
  CHECK(refusal(bad) == says + "0 in the field queue_pair");
  bad = good;
  bad.first_packet = 0x1000000;
  CHECK(refusal(bad) == says + "16777216 in the field first_packet");
  bad = good;
  bad.slots_at = std::numeric_limits<uint64_t>::max() - 100;
  CHECK(refusal(bad) == says + "18446744073709551515 in the field slots_at");
  Ready ready;
  ready.magic = 0;
  CHECK(check(ready, kParams).message() == says + "0 in the field magic of the last message");
}

TEST_CASE("random damage to an offer gives ports in range or an error") {
  std::mt19937_64 random(test::test_seed(1));
  for (int round = 0; round < 20'000; ++round) {
    PortOffer offer = offer_of(kParams, {some_port(), some_port()});
    auto* const bytes = reinterpret_cast<unsigned char*>(&offer);
    for (uint64_t damage = 1 + random() % 3; damage > 0; --damage)
      bytes[random() % sizeof offer] = static_cast<unsigned char>(random());
    if (!check(offer, kParams).ok()) continue;
    for (const VerbsPort& port : ports_of(offer)) {
      REQUIRE(port.device.size() < 64);
      REQUIRE(port.gids.size() <= WirePort::kMaxGids);
    }
  }
}

}  // namespace
}  // namespace rondo::verbs
