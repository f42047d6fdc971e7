// SPDX-License-Identifier: Apache-2.0
// Start: a bootstrap root in this process, ended with the object.
#pragma once

#include <rondo/rondo.h>

#include <span>

#include "bootstrap/rendezvous.h"
#include "catch.h"

namespace rondo::test {

inline UniqueId parse(const rondo_unique_id_t& id) {
  auto read = UniqueId::read(std::as_bytes(std::span(id.internal)));
  REQUIRE(read.ok());
  return read.take();
}

struct Start {
  rondo_unique_id_t raw;
  UniqueId id;
  Start() {
    REQUIRE(rondo_get_unique_id(&raw) == RONDO_OK);
    id = parse(raw);
  }
  ~Start() {
    rondo_comm_t alone = nullptr;
    CHECK(rondo_init_rank(&alone, 1, &raw, 0, nullptr) == RONDO_OK);
    rondo_destroy(alone);
  }
};

}  // namespace rondo::test
