// SPDX-License-Identifier: Apache-2.0
// What tests of rondo/topology.h share.
#pragma once

#include <string>

#include "catch.h"
#include "rondo/topology.h"

namespace rondo::test {

struct Owned {
  ~Owned() { rondo_topology_free(topology); }
  rondo_topology_t topology = nullptr;
};

inline void named(Owned& owned, const char* name, const rondo_topology_config_t* config = nullptr) {
  REQUIRE(rondo_topology_named(&owned.topology, name, config) == RONDO_OK);
}

inline rondo_topology_node_t node(rondo_topology_t topology, int index) {
  rondo_topology_node_t result = {};
  result.size = sizeof(result);
  REQUIRE(rondo_topology_node(topology, index, &result) == RONDO_OK);
  return result;
}

inline void refused(rondo_status_t status, rondo_status_t expected, const std::string& text) {
  CHECK(status == expected);
  CHECK_THAT(rondo_last_error(nullptr), Catch::Contains(text));
}

}  // namespace rondo::test
