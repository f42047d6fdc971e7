// SPDX-License-Identifier: Apache-2.0
// Which GIDs a port offers, and which pairs of two ports are tried in which order.
#include "verbs/gid_choice.h"

#include <algorithm>
#include <set>

#include "catch.h"
#include "ports.h"
#include "seed.h"

namespace rondo::test {
namespace {

using verbs::address_pairs;
using verbs::AddressPair;
using verbs::Gid;
using verbs::GidType;
using verbs::VerbsPort;

bool admits_all(std::string_view) { return true; }

std::vector<int> offered(VerbsPort port, const verbs::GidChoice& choice) {
  REQUIRE(verbs::offer_gids(port, choice, admits_all).ok());
  std::vector<int> found;
  for (const Gid& gid : port.gids) found.push_back(gid.index);
  return found;
}

const Gid& gid_of(const VerbsPort& port, int position) { return port.gids.at(static_cast<size_t>(position)); }

// ----- The reference: the rules in prose, a clause at a time, over text. -----

std::string bits_of(const Gid& gid) {
  std::string bits;
  for (const uint8_t byte : gid.raw)
    for (int bit = 7; bit >= 0; --bit) bits += (byte >> bit & 1) != 0 ? '1' : '0';
  return bits;
}

/// "The same family": both begin with the prefix ::ffff:0:0/96, or neither.
bool is_ipv4(const Gid& gid) { return ip_text(gid.raw).find(':') == std::string::npos; }

bool is_link_local_text(const Gid& gid) {
  const std::string text = ip_text(gid.raw);
  return text.starts_with("fe80:") || text.starts_with("169.254.");
}

/// Each end lies in the other's subnet.
bool one_subnet(const Gid& a, const Gid& b) {
  const auto within = [&](const Gid& of) {
    return of.prefix_bits > 0 && bits_of(a).substr(0, of.prefix_bits) == bits_of(b).substr(0, of.prefix_bits);
  };
  return within(a) && within(b);
}

/// 0: one subnet, on interfaces that the filter admits; 1: routable; 2: link-local; -1: no candidate.
int group_of(const Gid& a, const Gid& b) {
  if (a.type != b.type || is_ipv4(a) != is_ipv4(b)) return -1;
  if (is_link_local_text(a) != is_link_local_text(b)) return -1;
  if (is_link_local_text(a)) return 2;
  return one_subnet(a, b) && a.admitted && b.admitted ? 0 : 1;
}

std::set<std::pair<int, int>> reference(const VerbsPort& here, const VerbsPort& there) {
  if (here.infiniband != there.infiniband) return {};
  if (here.infiniband && (here.lid == 0 || there.lid == 0)) return {};
  if (here.infiniband && here.subnet_prefix == there.subnet_prefix) return {{-1, -1}};
  std::set<std::pair<int, int>> expected;
  for (int i = 0; i < static_cast<int>(here.gids.size()); ++i)
    for (int j = 0; j < static_cast<int>(there.gids.size()); ++j) {
      if (here == there && i != j) continue;
      if (here.infiniband || group_of(gid_of(here, i), gid_of(there, j)) >= 0) expected.insert({i, j});
    }
  return expected;
}

/// Two random ports, one in ten times twice the same.
std::pair<VerbsPort, VerbsPort> random_ends(XorShift& random) {
  VerbsPort here = random_port(random);
  VerbsPort there = draw(random, 10) == 0 ? here : random_port(random);
  return {std::move(here), std::move(there)};
}

}  // namespace

TEST_CASE("both ends list the same pairs in the same order") {
  XorShift random(test_seed(5), 0);
  for (int trial = 0; trial < 10'000; ++trial) {
    const auto [here, there] = random_ends(random);
    auto swapped = address_pairs(there, here);
    for (AddressPair& pair : swapped) std::swap(pair.here, pair.there);
    REQUIRE(address_pairs(here, there) == swapped);
  }
}

TEST_CASE("the pairs are those of the rules, each once") {
  XorShift random(test_seed(6), 0);
  for (int trial = 0; trial < 10'000; ++trial) {
    const auto [here, there] = random_ends(random);
    const auto pairs = address_pairs(here, there);
    std::set<std::pair<int, int>> found;
    for (const AddressPair& pair : pairs) found.insert({pair.here, pair.there});
    REQUIRE(found == reference(here, there));
    REQUIRE(found.size() == pairs.size());
  }
}

TEST_CASE("pairs of one subnet come first, then routable ones, link-local ones last") {
  XorShift random(test_seed(7), 0);
  std::set<std::pair<int, int>> steps;
  for (int trial = 0; trial < 10'000; ++trial) {
    const auto [here, there] = random_ends(random);
    if (here.infiniband || there.infiniband) continue;
    int last = 0;
    for (const AddressPair& pair : address_pairs(here, there)) {
      const int group = group_of(gid_of(here, pair.here), gid_of(there, pair.there));
      REQUIRE(group >= last);
      steps.insert({last, group});
      last = group;
    }
  }
  CHECK(steps == std::set<std::pair<int, int>>{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}});
}

TEST_CASE("with link-local and IPv6 GIDs before it, the IPv4 pair of one subnet is tried first") {
  const auto port = [](const std::string& device, int host) {
    const std::string end = std::to_string(host);
    return roce_port(device, {roce_gid(0, "fe80::" + end, 64), roce_gid(1, "2001:db8::" + end, 64),
                              roce_gid(2, "10.0.0." + end, 24), roce_gid(3, "192.168." + end + ".1", 24)});
  };
  const std::vector<AddressPair> expected{{2, 2}, {1, 1}, {2, 3}, {3, 2}, {3, 3}, {0, 0}};
  CHECK(address_pairs(port("mlx5_0", 1), port("mlx5_1", 2)) == expected);
}

TEST_CASE("interfaces that the filter does not admit are tried after those that it does") {
  VerbsPort here =
      roce_port("mlx5_0", {roce_gid(0, "10.0.0.1", 24, "eth0"), roce_gid(1, "10.9.0.1", 24, "vlan9")});
  VerbsPort there =
      roce_port("mlx5_1", {roce_gid(0, "10.0.0.2", 24, "eth0"), roce_gid(1, "10.9.0.2", 24, "vlan9")});
  for (VerbsPort* port : {&here, &there})
    REQUIRE(verbs::offer_gids(*port, {}, [](std::string_view name) { return name == "vlan9"; }).ok());
  CHECK(address_pairs(here, there) == std::vector<AddressPair>{{1, 1}, {0, 0}, {0, 1}, {1, 0}});
}

TEST_CASE("a subnet of unknown length is routed to") {
  const VerbsPort here = roce_port("mlx5_0", {roce_gid(0, "10.0.0.1", 0), roce_gid(1, "10.1.0.1", 24)});
  const VerbsPort there = roce_port("mlx5_1", {roce_gid(0, "10.0.0.2", 24), roce_gid(1, "10.1.0.2", 24)});
  CHECK(address_pairs(here, there).front() == AddressPair{1, 1});
  CHECK(address_pairs(here, there).size() == 4);
}

TEST_CASE("a port with itself uses the same GID at both ends") {
  const VerbsPort port = roce_port("mlx5_0", {roce_gid(0, "fe80::1", 64), roce_gid(1, "10.0.0.1", 24)});
  CHECK(address_pairs(port, port) == std::vector<AddressPair>{{1, 1}, {0, 0}});
}

TEST_CASE("InfiniBand needs a GRH between subnets only") {
  VerbsPort here = infiniband_port("mlx5_0", 5, 1);
  VerbsPort there = infiniband_port("mlx5_0", 7, 1);
  here.gids = there.gids = {Gid{.raw = address("fe80::1")}};
  REQUIRE(address_pairs(here, there).size() == 1);
  CHECK_FALSE(address_pairs(here, there)[0].has_grh());
  there.subnet_prefix = 2;
  REQUIRE(address_pairs(here, there).size() == 1);
  CHECK(address_pairs(here, there)[0].has_grh());
}

TEST_CASE("a RoCE port offers GIDs of v2, or those that are named") {
  VerbsPort port = roce_port("mlx5_0", {});
  for (uint8_t index = 0; index < 6; ++index) {
    port.gids.push_back(roce_gid(index, "10.0.0.1", 24));
    if (index % 2 == 0) port.gids.back().type = GidType::RoceV1;
  }
  port.gids[5].raw = {};  // an empty entry of the table
  CHECK(offered(port, {}) == std::vector{1, 3});
  CHECK(offered(port, {.v1 = true}) == std::vector{0, 2, 4});
  CHECK(offered(port, {.index = 3}) == std::vector{3});
  CHECK(offered(port, {.index = 4}) == std::vector{4});
}

TEST_CASE("an InfiniBand port offers all its GIDs, or the one that is named") {
  VerbsPort port = infiniband_port("mlx5_0", 5, 1);
  port.gids = {Gid{.raw = address("fe80::1"), .index = 0}, Gid{.raw = address("fe80::2"), .index = 1}};
  const auto admits_none = [](std::string_view) { return false; };
  REQUIRE(verbs::offer_gids(port, {}, admits_none).ok());
  CHECK(port.gids.size() == 2);
  CHECK(port.gids[0].admitted);
  CHECK(offered(port, {.index = 1}) == std::vector{1});
}

TEST_CASE("a named GID that the port lacks is an error that lists those it has") {
  const VerbsPort whole = roce_port("mlx5_0", {roce_gid(1, "10.0.0.1", 24), roce_gid(3, "10.0.1.1", 24)});
  VerbsPort port = whole;
  const Status missing = verbs::offer_gids(port, {.variable = "NCCL_IB_GID_INDEX", .index = 2}, admits_all);
  CHECK(missing.code() == Code::InvalidArgument);
  CHECK(missing.message() == "NCCL_IB_GID_INDEX is 2: port mlx5_0:1 has no GID of this index; it has 1, 3");
  port = whole;
  CHECK(verbs::offer_gids(port, {.v1 = true}, admits_all).message() ==
        "RONDO_IB_GID is v1: port mlx5_0:1 has no GID of RoCE v1");
  port.gids.clear();
  CHECK(verbs::offer_gids(port, {.index = 0}, admits_all).message() ==
        "RONDO_IB_GID is 0: port mlx5_0:1 has no GID of this index; it has none");
}

TEST_CASE("an index of NCCL's does not matter to InfiniBand, and a RoCE port without it is not used") {
  const verbs::GidChoice choice{.variable = "NCCL_IB_GID_INDEX", .index = 2, .is_required = false};
  VerbsPort roce = roce_port("mlx5_0", {roce_gid(1, "10.0.0.1", 24), roce_gid(3, "10.0.1.1", 24)});
  CHECK(verbs::offer_gids(roce, choice, admits_all).ok());
  CHECK(roce.gids.empty());
  VerbsPort infiniband = infiniband_port("mlx5_1", 4, 1);
  infiniband.gids = {Gid{.raw = address("fe80::1"), .index = 0}};
  CHECK(verbs::offer_gids(infiniband, choice, admits_all).ok());
  CHECK(infiniband.gids.size() == 1);
}

TEST_CASE("without a pair, the reason is named") {
  const VerbsPort ethernet = roce_port("mlx5_0", {roce_gid(1, "10.0.0.1", 24)});
  const VerbsPort ipv6 = roce_port("mlx5_1", {roce_gid(2, "2001:db8::1", 64)});
  VerbsPort infiniband = infiniband_port("mlx5_2", 5, 1);
  CHECK(verbs::why_no_pair(ethernet, infiniband) ==
        "mlx5_0:1 here is Ethernet and mlx5_2:1 there is InfiniBand");
  CHECK(verbs::why_no_pair(ethernet, roce_port("mlx5_3", {})) ==
        "mlx5_3:1 there has no GID to offer: does its interface have an IP address?");
  CHECK(verbs::why_no_pair(ethernet, ipv6) ==
        "no two GIDs are of one RoCE version, address family and scope: mlx5_0:1 here has 10.0.0.1 (GID 1, "
        "RoCE "
        "v2, eth0); mlx5_1:1 there has 2001:db8::1 (GID 2, RoCE v2, eth0)");
  CHECK(verbs::why_no_pair(infiniband, infiniband_port("mlx5_3", 5, 2)) ==
        "mlx5_2:1 here has no GID, which a port of another subnet needs");
  infiniband.lid = 0;
  CHECK(verbs::why_no_pair(infiniband_port("mlx5_3", 5, 1), infiniband) ==
        "mlx5_2:1 there has no LID: is a subnet manager running?");
}

TEST_CASE("ports that have an address pair have a fabric in common, and on RoCE only those") {
  XorShift random(test_seed(11), 0);
  int alike = 0;
  for (int i = 0; i < 2000; ++i) {
    const VerbsPort a = random_port(random);
    const VerbsPort b = random_port(random);
    const bool pairs = !address_pairs(a, b).empty();
    const bool share = (verbs::fabrics_of({a}) & verbs::fabrics_of({b})) != 0;
    CHECK(share >= pairs);
    if (!a.infiniband || !b.infiniband) CHECK(share == pairs);
    alike += pairs ? 1 : 0;
  }
  CHECK(alike > 100);
  CHECK(verbs::fabrics_of({}) == 0);
}

}  // namespace rondo::test
