// SPDX-License-Identifier: Apache-2.0
// Descriptions as they travel between hosts: nothing is lost, and equal hosts have equal ones.
#include "formats/host_kind.h"
#include "graph_lines.h"
#include "nccl_host.h"

using namespace rondo;
using namespace rondo::test;

namespace {

Machine travelled(const Machine& machine) {
  auto arrived = machine_of_host_kind(host_kind_text(machine), "rank 3's host");
  REQUIRE(arrived.status().message() == "");
  return arrived.take();
}

}  // namespace

TEST_CASE("hosts that differ in their own numbers alone have one text, others do not") {
  const std::string one = host_kind_text(read(kHost));
  CHECK(host_kind_text(read(changed("guid=\"0x1\"", "guid=\"0x5c25730003b27012\""))) == one);
  CHECK(host_kind_text(read(changed("<cpu numaid", "<cpu host_hash=\"0x99\" numaid"))) == one);
  for (const char* other : {"sm=\"90\"", "sm=\"80\" extra=\"1\""})
    CHECK(host_kind_text(read(changed("sm=\"80\"", other))) != one);
  Machine without_p2p = read(kHost);
  without_p2p.p2p_below_switches = false;
  CHECK(host_kind_text(without_p2p) != one);
  // Ports of one NIC have one guid, and still do.
  const std::string port =
      "<net name=\"mlx5_0\" dev=\"0\" speed=\"200000\" port=\"1\" guid=\"0x1\" maxconn=\"131072\" "
      "gdr=\"1\"/>";
  const auto two_ports = [&](const std::string& guid) {
    std::string second = port;
    second.replace(second.find("mlx5_0"), 6, "mlx5_1").replace(second.find("0x1"), 3, guid);
    return host_kind_text(read(changed(port, port + second)));
  };
  CHECK(two_ports("0x1") != two_ports("0x2"));
  CHECK(two_ports("0x2") == two_ports("0x3"));
}

TEST_CASE("a description that has travelled is the same graph, with what was said about it") {
  for (const std::string& path : recorded_topologies()) {
    CAPTURE(path);
    Machine machine = recorded(path);
    machine.p2p_below_switches = path.size() % 2 == 0;
    machine.repairs.push_back("a.xml:3: two\nlines");
    const Machine arrived = travelled(machine);
    CHECK(arrived.source == "rank 3's host");
    CHECK(arrived.p2p_below_switches == machine.p2p_below_switches);
    CHECK(arrived.repairs.back() == "a.xml:3: two lines");
    CHECK(graph_lines(graph_of(arrived)) == graph_lines(graph_of(machine)));
  }
  CHECK(travelled(read(kHost)).p2p_below_switches == std::nullopt);
}

TEST_CASE("what is no such text is refused") {
  const std::string text = host_kind_text(read(kHost));
  for (size_t length = 0; length + 1 < text.size(); ++length)  // of all but the last end of a line
    CHECK(machine_of_host_kind(text.substr(0, length), "rank 1's host").status().code() ==
          Code::InvalidArgument);
  CHECK(machine_of_host_kind("p2p\n\n", "rank 1's host").status().message() ==
        "rank 1's host: not the description of a kind of host");
}
