// SPDX-License-Identifier: Apache-2.0
// The table itself: names, order, and which pairs each transport reaches. What is true of a row follows from
// its medium.
#include "catch.h"
#include "transports/transport.h"

namespace rondo {
namespace {

const Transport& named(const char* name) {
  const auto found = transport_by_name(name);
  REQUIRE(found.ok());
  return *found.value();
}

TEST_CASE("every transport is found by its name") {
  for (const Transport& transport : transports()) REQUIRE(&named(transport.name) == &transport);
}

TEST_CASE("an unknown name is refused with the known names") {
  const auto found = transport_by_name("pigeon");
  REQUIRE_FALSE(found.ok());
  REQUIRE(found.status().code() == Code::InvalidArgument);
  REQUIRE(found.status().message().find("'pigeon'") != std::string::npos);
  for (const Transport& transport : transports())
    REQUIRE(found.status().message().find(transport.name) != std::string::npos);
}

TEST_CASE("a transport reaches a pair by what its medium needs them to share") {
  const Endpoint self{.host = 1, .process = 10};
  const Endpoint same_host{.host = 1, .process = 11};
  const Endpoint other_host{.host = 2, .process = 10};
  for (const Transport& transport : transports()) {
    INFO(transport.name);
    const bool spans_hosts = transport.medium == Medium::Network;
    CHECK(transport.reaches(self, self));
    CHECK(transport.reaches(self, same_host) == (spans_hosts || transport.medium == Medium::HostMemory));
    CHECK(transport.reaches(self, other_host) == spans_hosts);
  }
}

TEST_CASE("the table is in order of preference: nearer media first, the simulated one last") {
  const auto rows = transports();
  for (size_t i = 1; i < rows.size(); ++i) {
    INFO(rows[i - 1].name << " before " << rows[i].name);
    CHECK(rows[i - 1].medium <= rows[i].medium);
  }
}

std::string automatic(const Endpoint& a, const Endpoint& b) {
  const Transport* const found = automatic_transport(a, b);
  return found != nullptr ? found->name : "none";
}

TEST_CASE("any pair has an automatic transport, none of them simulated") {
  CHECK(automatic({1, 1}, {1, 1}) == "local");
  CHECK(automatic({1, 1}, {1, 2}) == "shm");
  CHECK(automatic({1, 1}, {2, 2}) == "tcp");
}

TEST_CASE("a transport that needs a fabric is automatic where two hosts have one in common") {
  uint64_t first_bit = 1;
  for (const Transport& transport : transports()) {
    if (transport.fabrics == nullptr) continue;
    INFO(transport.name);
    CHECK(automatic({1, 1, 0b110 * first_bit}, {2, 2, 0b011 * first_bit}) == transport.name);
    CHECK(automatic({1, 1, 0b100 * first_bit}, {2, 2, 0b011 * first_bit}) == "tcp");
    CHECK(automatic({1, 1, 0b110 * first_bit}, {2, 2, 0}) == "tcp");
    CHECK(automatic({1, 1, first_bit}, {1, 2, first_bit}) == "shm");
    first_bit <<= Fabrics::kMaxBits;
  }
}

TEST_CASE("each transport over fabrics has a rate of its own, and only verbs' costs follow it") {
  Fabrics fabrics{.bits = 0, .rates_Gbps = {100, 400, 25, 10}};
  size_t place = 0;
  for (const Transport& transport : transports()) {
    INFO(transport.name);
    CHECK(fabric_rate_Gbps(transport, fabrics) ==
          (transport.fabrics != nullptr ? fabrics.rates_Gbps.at(place++) : 0));
    const auto us_per_byte = [&transport](double rate_Gbps) {
      return transport.cost({.same_host = false, .rate_Gbps = rate_Gbps}).us_per_byte;
    };
    const double factor = transport.name == std::string("verbs") ? 4 : 1;
    CHECK(us_per_byte(50) == Approx(factor * us_per_byte(200)));
    CHECK(us_per_byte(0) == us_per_byte(100));
  }
}

TEST_CASE("a network plugin that both hosts have is used before what they also have") {
  CHECK(automatic({1, 1, ~uint64_t{0}}, {2, 2, ~uint64_t{0}}) == "plugin");
}

}  // namespace
}  // namespace rondo
