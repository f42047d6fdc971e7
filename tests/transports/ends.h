// Ends: both ends of one connection, made in one thread over FakeLinks.
#pragma once

#include "catch.h"
#include "fake_link.h"
#include "traffic.h"

namespace rondo::test {

struct Ends {
  std::shared_ptr<Wire> wire = std::make_shared<Wire>();
  ConnectionKey key = new_key();
  std::unique_ptr<Connection> low;
  std::unique_ptr<Connection> high;

  Result<std::unique_ptr<Connection>> connect(const Transport& transport, const ConnectionParams& params,
                                              bool low_end) {
    return transport.connect(std::make_unique<FakeLink>(wire, key, low_end), params);
  }
};

inline std::unique_ptr<Connection> require_connection(Result<std::unique_ptr<Connection>> made) {
  INFO(made.status().message());
  REQUIRE(made.ok());
  return made.take();
}

/// Both ends; the lower rank's first, or the other one.
inline Ends connect_ends(const Transport& transport, const ConnectionParams& params, bool low_first = true,
                         const ConnectionKey& key = new_key()) {
  Ends ends;
  ends.key = key;
  if (low_first) ends.low = require_connection(ends.connect(transport, params, true));
  ends.high = require_connection(ends.connect(transport, params, false));
  if (!low_first) ends.low = require_connection(ends.connect(transport, params, true));
  return ends;
}

/// Small numbers, so that everything wraps around soon.
inline ConnectionParams small_params(size_t slot_bytes = 1000, int slots = 3) {
  return {.slot_bytes = slot_bytes, .slots = slots, .sockets = 2, .sim_seed = 7, .sim_delay_us = 20};
}

}  // namespace rondo::test
