// SPDX-License-Identifier: Apache-2.0
// RONDO_IB_PORTS and NCCL_IB_HCA: which ports they admit, and what they say of names that no port has.
#include "verbs/port_filter.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "catch.h"
#include "ports.h"

namespace rondo::test {
namespace {

using verbs::PortFilter;
using verbs::VerbsPort;
using Names = std::vector<std::string>;

/// Two ports of mlx5_0, one of each other device.
std::vector<VerbsPort> host_ports() {
  std::vector<VerbsPort> ports;
  for (const char* device : {"mlx5_0", "mlx5_0", "mlx5_1", "mlx5_10", "bnxt_re0"})
    ports.push_back(roce_port(device, {}));
  ports[1].number = 2;
  verbs::number_rails(ports);
  return ports;
}

Names admitted(const Result<PortFilter>& filter) {
  REQUIRE(filter.ok());
  auto ports = host_ports();
  REQUIRE(filter.value().apply(ports).ok());
  Names names;
  for (const VerbsPort& port : ports) names.push_back(port.name());
  return names;
}

Names by_rondo(std::string_view value) { return admitted(PortFilter::parse("RONDO_IB_PORTS", value)); }
Names by_nccl(std::string_view value) { return admitted(PortFilter::parse_nccl("NCCL_IB_HCA", value)); }

std::string refusal(const Result<PortFilter>& filter) {
  REQUIRE_FALSE(filter.ok());
  CHECK(filter.status().code() == Code::InvalidArgument);
  return filter.status().message();
}

const Names kAll{"mlx5_0:1", "mlx5_0:2", "mlx5_1:1", "mlx5_10:1", "bnxt_re0:1"};

}  // namespace

TEST_CASE("without a filter all ports are admitted") {
  CHECK(admitted(PortFilter()) == kAll);
  CHECK(PortFilter().unmatched(host_ports()).empty());
}

TEST_CASE("RONDO_IB_PORTS names whole devices and ports, to use or to leave out") {
  CHECK(by_rondo("mlx5_0") == Names{"mlx5_0:1", "mlx5_0:2"});
  CHECK(by_rondo("mlx5_0:2") == Names{"mlx5_0:2"});
  CHECK(by_rondo("mlx5_1") == Names{"mlx5_1:1"});
  CHECK(by_rondo("mlx5_1,bnxt_re0:1") == Names{"mlx5_1:1", "bnxt_re0:1"});
  CHECK(by_rondo("mlx5_0:1,^mlx5_4") == Names{"mlx5_0:1"});
  CHECK(by_rondo("mlx5_0,^mlx5_0:1") == Names{"mlx5_0:2"});
  CHECK(by_rondo("^mlx5_0:1,mlx5_0") == Names{"mlx5_0:2"});
  CHECK(by_rondo("^mlx5_1") == Names{"mlx5_0:1", "mlx5_0:2", "mlx5_10:1", "bnxt_re0:1"});
  CHECK(by_rondo("^mlx5_0:1,^mlx5_10") == Names{"mlx5_0:2", "mlx5_1:1", "bnxt_re0:1"});
  CHECK(by_rondo("^mlx4_0") == kAll);
}

TEST_CASE("NCCL_IB_HCA names beginnings of devices unless '=' says otherwise") {
  CHECK(by_nccl("mlx5") == Names{"mlx5_0:1", "mlx5_0:2", "mlx5_1:1", "mlx5_10:1"});
  CHECK(by_nccl("mlx5_1") == Names{"mlx5_1:1", "mlx5_10:1"});
  CHECK(by_nccl("=mlx5_1") == Names{"mlx5_1:1"});
  CHECK(by_nccl("=mlx5_0:1,mlx5_1:1") == Names{"mlx5_0:1", "mlx5_1:1"});
  CHECK(by_nccl("^mlx5_1") == Names{"mlx5_0:1", "mlx5_0:2", "bnxt_re0:1"});
  CHECK(by_nccl("^=mlx5_1,mlx5_4") == Names{"mlx5_0:1", "mlx5_0:2", "mlx5_10:1", "bnxt_re0:1"});
  CHECK(by_nccl("^=mlx5_0:2") == Names{"mlx5_0:1", "mlx5_1:1", "mlx5_10:1", "bnxt_re0:1"});
  CHECK(by_nccl("mlx5:2") == Names{"mlx5_0:2"});
  CHECK(by_nccl("bnxt,,") == Names{"bnxt_re0:1"});
  CHECK(by_nccl("=mlx5_0::3:1") == Names{"mlx5_0:1", "mlx5_0:2"});
}

TEST_CASE("NCCL_IB_HCA numbers the rails of the ports for which it names one") {
  auto ports = host_ports();
  const auto filter = PortFilter::parse_nccl("NCCL_IB_HCA", "=mlx5_1:1:7:0,mlx5_0:-1:9,mlx5_10:1:-1");
  REQUIRE(filter.ok());
  REQUIRE(filter.value().apply(ports).ok());
  std::vector<int> rails;
  for (const VerbsPort& port : ports) rails.push_back(port.rail);
  CHECK(rails == std::vector{9, 9, 7, 4});
}

TEST_CASE("a value that cannot be read is an error that says why") {
  const auto rondo = [](std::string_view value) {
    return refusal(PortFilter::parse("RONDO_IB_PORTS", value));
  };
  CHECK(rondo("mlx5_0,,mlx5_1") == "RONDO_IB_PORTS is 'mlx5_0,,mlx5_1': a name is empty");
  CHECK(rondo("mlx5_0,") == "RONDO_IB_PORTS is 'mlx5_0,': a name is empty");
  CHECK(rondo("^") == "RONDO_IB_PORTS is '^': a name is empty");
  CHECK(rondo("=mlx5_0:1") == "RONDO_IB_PORTS is '=mlx5_0:1': names are whole without '='; write mlx5_0:1");
  CHECK(rondo("mlx5 0") ==
        "RONDO_IB_PORTS is 'mlx5 0': 'mlx5 0' is not the name of a device, such as mlx5_0");
  CHECK(rondo(":1") == "RONDO_IB_PORTS is ':1': '' is not the name of a device, such as mlx5_0");
  CHECK(rondo("mlx5_0:") == "RONDO_IB_PORTS is 'mlx5_0:': 'mlx5_0:' has no number after the ':'");
  CHECK(rondo("mlx5_0:1:2") == "RONDO_IB_PORTS is 'mlx5_0:1:2': 'mlx5_0:1:2' has 2 numbers, of at most 1");
  for (const char* number : {"0", "256", "one", "1.0", "-2", "99999999999999999999"})
    CHECK(rondo(fmt::format("mlx5_0:{}", number)) ==
          fmt::format("RONDO_IB_PORTS is 'mlx5_0:{0}': port '{0}' must be a number from 1 to 255", number));
  const auto nccl = [](std::string_view value) {
    return refusal(PortFilter::parse_nccl("NCCL_IB_HCA", value));
  };
  CHECK(nccl("^=") == "NCCL_IB_HCA is '^=': it names no device, such as mlx5_0");
  CHECK(nccl("mlx5,^mlx4") ==
        "NCCL_IB_HCA is 'mlx5,^mlx4': '^mlx4' is not the name of a device, such as mlx5_0");
  CHECK(nccl("mlx5:1:x") == "NCCL_IB_HCA is 'mlx5:1:x': rail 'x' must be a number from 0 to 65535");
  CHECK(nccl("mlx5:1:0:-3") == "NCCL_IB_HCA is 'mlx5:1:0:-3': plane '-3' must be a number from 0 to 65535");
}

TEST_CASE("a name that no port has is named, with the nearest one") {
  const auto one = PortFilter::parse("RONDO_IB_PORTS", "mlx5_1,mlx5_o,^mlx5_7").value();
  const std::string has = "it has mlx5_0:1, mlx5_0:2, mlx5_1:1, mlx5_10:1, bnxt_re0:1";
  CHECK(one.unmatched(host_ports()) ==
        Names{"RONDO_IB_PORTS is 'mlx5_1,mlx5_o,^mlx5_7': no port of this host is mlx5_o; " + has +
              "; did you mean mlx5_0?"});
  const auto other = PortFilter::parse("RONDO_IB_PORTS", "mlx5_10:2").value();
  auto ports = host_ports();
  const Status refused = other.apply(ports);
  CHECK(refused.code() == Code::InvalidArgument);
  CHECK(refused.message() == "RONDO_IB_PORTS is 'mlx5_10:2': no port of this host is mlx5_10:2; " + has +
                                 "; did you mean mlx5_10:1?");
  CHECK(ports == host_ports());
  CHECK(PortFilter::parse_nccl("NCCL_IB_HCA", "irdma").value().apply(ports).message() ==
        "NCCL_IB_HCA is 'irdma': no port of this host begins with irdma; " + has);
}

TEST_CASE("a filter that excludes every port is an error, and none on a host without ports") {
  auto ports = host_ports();
  const auto filter = PortFilter::parse_nccl("NCCL_IB_HCA", "^mlx5,bnxt").value();
  CHECK(filter.apply(ports).message() ==
        "NCCL_IB_HCA is '^mlx5,bnxt': that excludes every port of this host: mlx5_0:1, mlx5_0:2, mlx5_1:1, "
        "mlx5_10:1, bnxt_re0:1");
  std::vector<VerbsPort> none;
  CHECK(filter.apply(none).ok());
}

}  // namespace rondo::test
