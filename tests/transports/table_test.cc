// SPDX-License-Identifier: Apache-2.0
// The table itself: names, order, and which pairs each transport reaches.
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

TEST_CASE("a transport reaches a pair by what the pair shares") {
  const Endpoint self{.host = 1, .process = 10};
  const Endpoint same_host{.host = 1, .process = 11};
  const Endpoint other_host{.host = 2, .process = 10};
  REQUIRE(named("local").reaches(self, self));
  REQUIRE_FALSE(named("local").reaches(self, same_host));
  REQUIRE_FALSE(named("local").reaches(self, other_host));
  REQUIRE(named("shm").reaches(self, self));
  REQUIRE(named("shm").reaches(self, same_host));
  REQUIRE_FALSE(named("shm").reaches(self, other_host));
  REQUIRE(named("tcp").reaches(self, other_host));
  REQUIRE(named("sim").reaches(self, self));
  REQUIRE_FALSE(named("sim").reaches(self, same_host));
}

TEST_CASE("the table is in order of preference, and sim is never chosen automatically") {
  std::string order;
  for (const Transport& transport : transports()) {
    order += std::string(transport.name) + " ";
    REQUIRE(transport.automatic == (std::string(transport.name) != "sim"));
  }
  REQUIRE(order == "local shm tcp sim ");
}

}  // namespace
}  // namespace rondo
