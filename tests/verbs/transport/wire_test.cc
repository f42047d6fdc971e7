// SPDX-License-Identifier: Apache-2.0
// The messages of the handshake: nonsense is found by field.
#include "verbs/wire.h"

#include <functional>
#include <limits>
#include <random>

#include "../ports.h"
#include "base/error_kinds.h"
#include "catch.h"
#include "seed.h"

namespace rondo::verbs {
namespace {

constexpr AgreedParams kParams{.slot_bytes = 1000, .slots = 3};
constexpr PairContact kContact{.queue_pair = 1, .slots_at = 4096};
const std::string kSays = "the peer's handshake has ";

template <class Message>
std::string refused(Message message, const std::function<void(Message&)>& change) {
  REQUIRE(check(message, kParams).ok());
  change(message);
  const Status status = check(message, kParams);
  CHECK((status.ok() || status.code() == Code::RemoteError || status.code() == Code::Mismatch));
  return status.message();
}

TEST_CASE("nonsense in an offer is an error that names the field") {
  const auto refused_after = [](const std::function<void(PortOffer&)>& change) {
    return refused<PortOffer>({.slot_bytes = 1000, .slots = 3}, change);
  };
  CHECK(refused_after([](PortOffer& o) { o.magic = 5; }) == kSays + "5 in the field magic of the offer");
  CHECK(refused_after([](PortOffer& o) { o.version = 1; }) == kSays + "1 in the field version");
  CHECK(refused_after([](PortOffer& o) { o.gives_up = 3; }) == kSays + "3 in the field gives_up");
  CHECK(refused_after([](PortOffer& o) { o.reason.fill('x'); }) == kSays + "120 in the field reason");
  CHECK(refused_after([](PortOffer& o) { o.reason[0] = '\n'; }) == kSays + "10 in the field reason");
  CHECK(refused_after([](PortOffer& o) { o.port_bytes = 1 << 20; }) ==
        kSays + "1048576 in the field port_bytes");
  CHECK(refused_after([](PortOffer& o) { o.pairs = 17; }) == kSays + "17 in the field pairs");
  CHECK(refused_after([](PortOffer& o) { o.slots = 4; }).find("slots is 3 at this end and 4") !=
        std::string::npos);
}

TEST_CASE("nonsense in the messages about a path is an error that names the field") {
  const auto proposed = [](const std::function<void(PathProposal&)>& change) {
    return refused<PathProposal>({.contact = kContact}, change);
  };
  CHECK(proposed([](PathProposal& p) { p.magic = 1; }) == kSays + "1 in the field magic of the proposal");
  CHECK(proposed([](PathProposal& p) { p.follow = 3; }) == kSays + "3 in the field follow");
  CHECK(proposed([](PathProposal& p) { p.contact.queue_pair = 0x1000000; }) ==
        kSays + "16777216 in the field queue_pair");
  CHECK(proposed([](PathProposal& p) { p.contact.queue_pair = 0; }) == kSays + "0 in the field queue_pair");
  CHECK(proposed([](PathProposal& p) { p.contact.first_packet = 0x1000000; }) ==
        kSays + "16777216 in the field first_packet");
  CHECK(proposed([](PathProposal& p) { p.contact.slots_at = std::numeric_limits<uint64_t>::max() - 100; }) ==
        kSays + "18446744073709551515 in the field slots_at");
  CHECK(refused<PathAnswer>({.contact = kContact}, [](PathAnswer& a) { a.contact.slots_at = 0; }) ==
        kSays + "0 in the field slots_at");
  CHECK(refused<PathAnswer>({.contact = kContact}, [](PathAnswer& a) { a.magic = 0; }) ==
        kSays + "0 in the field magic of the answer");
  CHECK(refused<PathVerdict>({}, [](PathVerdict& v) { v.magic = 7; }) ==
        kSays + "7 in the field magic of the verdict");
}

TEST_CASE("an end that gives up, or has no path, need not say where its queue pair is") {
  CHECK(check(PathProposal{.gives_up = 1, .reason = wire_text("why")}, kParams).ok());
  CHECK(check(PathAnswer{.reason = wire_text("why")}, kParams).ok());
}

TEST_CASE("reasons are cut to their field, and printable") {
  const WireText text = wire_text(std::string(1000, 'x'));
  CHECK(text.back() == '\0');
  CHECK(text[510] == 'x');
  CHECK(std::string(wire_text("a\nb\xc3").data()) == "a?b?");
  for (const size_t length : {4u, 503u, 1000u}) {
    const Status reason = reason_of(wire_text(Status(ErrorKind::NoVerbsDevice, std::string(length, 'x'))));
    CHECK(reason.message() == std::string(std::min<size_t>(length, 503), 'x'));
    CHECK(reason.kind() == ErrorKind::NoVerbsDevice);
  }
  CHECK(wire_text(Status()).front() == '\0');
}

TEST_CASE("a path that is none between the ports is refused") {
  const std::vector<VerbsPort> dialler{test::roce_port("mlx5_0", {test::roce_gid(3, "10.0.0.1", 24)})};
  const std::vector<VerbsPort> acceptor{test::roce_port("mlx5_0", {test::roce_gid(1, "10.0.0.2", 24)})};
  const std::vector<VerbsPath> paths = paths_between(dialler, acceptor);
  REQUIRE(paths.size() == 1);
  const auto refusal = [&](const std::function<void(VerbsPath&)>& change) {
    VerbsPath path = paths[0];
    change(path);
    return check_path(path, dialler, acceptor).message();
  };
  CHECK(refusal([](VerbsPath&) {}).empty());
  CHECK(refusal([](VerbsPath& p) { p.mtu = 256; }).empty());
  CHECK(refusal([](VerbsPath& p) { p.dialler.port = 1; }) == kSays + "1 in the field dialler's port");
  CHECK(refusal([](VerbsPath& p) { p.acceptor.port = 9; }) == kSays + "9 in the field acceptor's port");
  CHECK(refusal([](VerbsPath& p) { p.dialler.gid = 7; }) == kSays + "7 in the field dialler's GID");
  CHECK_FALSE(refusal([](VerbsPath& p) { p.acceptor.gid = -1; }).empty());
  CHECK(refusal([](VerbsPath& p) { p.mtu = 1500; }) == kSays + "1500 in the field mtu");
  CHECK(refusal([](VerbsPath& p) { p.mtu = 128; }) == kSays + "128 in the field mtu");
  CHECK(refusal([](VerbsPath& p) { p.mtu = 8192; }) == kSays + "8192 in the field mtu");
}

TEST_CASE("random bytes are no ports, or ports with paths in range") {
  std::mt19937_64 random(test::test_seed(1));
  const std::vector<VerbsPort> own{test::roce_port("mlx5_0", {test::roce_gid(3, "10.0.0.1", 24)})};
  for (int round = 0; round < 20'000; ++round) {
    ByteWriter writer;
    write_ports(writer, own);
    std::vector<std::byte> bytes = writer.bytes();
    for (uint64_t damage = random() % 3; damage > 0; --damage)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    const auto ports = ports_of(bytes);
    if (!ports.ok()) continue;
    bool sound = true;
    for (const VerbsPath& path : paths_between(own, ports.value()))
      sound = sound && check_path(path, own, ports.value()).ok();
    REQUIRE(sound);
  }
}

}  // namespace
}  // namespace rondo::verbs
