// SPDX-License-Identifier: Apache-2.0
// What is found out about the ports of a host, and why some cannot be used.
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "folder.h"
#include "in_process.h"
#include "process.h"
#include "verbs/device.h"

namespace rondo::verbs {
namespace {

using test::require;
using verbs_test::in_process;

std::shared_ptr<Devices> opened() {
  auto devices = Devices::open();
  require(devices.ok(), devices.status().message());
  return devices.take();
}

std::vector<VerbsPort> found() {
  auto ports = opened()->ports();
  require(ports.ok(), ports.status().message());
  return ports.take();
}

void require_equal(const std::string& is, const std::string& should) {
  require(is == should, "'" + is + "' instead of '" + should + "'");
}

std::string refusal() {
  const auto devices = Devices::open();
  const Status status = devices.ok() ? devices.value()->ports().status() : devices.status();
  require(status.code() == Code::Unsupported, "not refused: " + status.message());
  return status.message();
}

TEST_CASE("ports of RoCE have a rate, an MTU, and GIDs with type, index and interface") {
  CHECK(in_process(
            {{"_DEVICES", "roce:2:200"}, {"_MTU", "1024"}, {"_GIDS", "v1 fe80::%h:%p lo;v2 10.9.%p.%h lo"}},
            [] {
              const std::vector<VerbsPort> ports = found();
              require(ports.size() == 2, "two ports");
              const VerbsPort& port = ports[1];
              require_equal(port.name(), "rondo_0:2");
              require(!port.infiniband && port.mtu == 1024 && port.rate == 200, "RoCE");
              require(port.gids.size() == 1, "the GID of v2 alone");
              require(port.gids[0].type == GidType::RoceV2 && port.gids[0].index == 1, "v2");
              const std::array<uint8_t, 16> address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 9, 2, 1};
              require(port.gids[0].raw == address, "the address");
              require_equal(port.gids[0].interface, "lo");
            }) == "");
}

TEST_CASE("ports of InfiniBand have a LID and the prefix of their subnet") {
  CHECK(in_process({{"_DEVICES", "ib:1:100"}, {"_SUBNET", "7"}, {"_HOST", "2"}}, [] {
          const std::vector<VerbsPort> ports = found();
          require(ports.size() == 1 && ports[0].infiniband, "one port of InfiniBand");
          require(ports[0].lid == 33, "the LID");
          require(ports[0].subnet_prefix == 0xfe80000000000007, "the prefix");
          require(ports[0].gids.size() == 1 && ports[0].gids[0].type == GidType::Ib, "its GID");
        }) == "");
}

TEST_CASE("a port's memory node is that of its device, if the system knows it") {
  const test::Folder folder;
  std::filesystem::create_directories(folder / "class/infiniband/rondo_0/device");
  std::ofstream(folder / "class/infiniband/rondo_0/device/numa_node") << "3\n";
  CHECK(in_process({{"_DEVICES", "roce,roce"}, {"_SYS", folder.path()}}, [] {
          const std::vector<VerbsPort> ports = found();
          require(ports.size() == 2 && ports[0].numa == 3 && ports[1].numa == -1, "the nodes");
        }) == "");
}

TEST_CASE("ports that cannot be used are refused by name, with the reason") {
  CHECK(in_process({}, [] {
          const auto devices = opened();
          verbs_test::command("port_down 0/rondo_0:1");
          require_equal(refusal(), "InfiniBand verbs cannot be used: rondo_0:1 is down");
        }) == "");
  CHECK(in_process({{"_DEVICES", "iwarp"}}, [] {
          require_equal(refusal(),
                        "InfiniBand verbs cannot be used: rondo_0 is iWARP, which has no immediate data");
        }) == "");
  CHECK(in_process({{"_DEVICES", "none"}}, [] {
          require_equal(refusal(), "InfiniBand verbs cannot be used: this host has no device");
        }) == "");
  CHECK(in_process({{"_FAIL", "open:1"}}, [] {
          require_equal(refusal(),
                        "InfiniBand verbs cannot be used: rondo_0 cannot be opened: Permission denied; this "
                        "user may not open /dev/infiniband/uverbs*");
        }) == "");
}

TEST_CASE("a device that cannot be opened leaves the others") {
  CHECK(in_process({{"_DEVICES", "roce,roce"}, {"_FAIL", "open:1"}}, [] {
          const std::vector<VerbsPort> ports = found();
          require(ports.size() == 1, "one port");
          require_equal(ports[0].name(), "rondo_1:1");
        }) == "");
}

TEST_CASE("connections share devices and the domain of their session, and the last one closes them") {
  CHECK(in_process({{"_FAIL", "open:2"}}, [] {
          {
            const auto one = opened();
            require(opened() == one, "shared");
            const auto device = one->named("rondo_0");
            require(device.ok(), "its device");
            const auto domain = device.value()->domain(1);
            require(domain.value() == device.value()->domain(1).value(), "one domain a session");
            require(domain.value() != device.value()->domain(2).value(), "another session, another domain");
            require(!one->named("rondo_9").ok(), "no such device");
          }
          require_equal(refusal(),
                        "InfiniBand verbs cannot be used: rondo_0 cannot be opened: Permission denied; this "
                        "user may not open /dev/infiniband/uverbs*");
        }) == "");
}

TEST_CASE("a forked child opens devices of its own") {
  CHECK(in_process({}, [] {
          const auto mine = opened();
          const std::string failure = in_process({}, [&] { require(opened() != mine, "the parent's"); });
          require(failure.empty(), failure);
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs
