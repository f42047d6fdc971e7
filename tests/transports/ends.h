// SPDX-License-Identifier: Apache-2.0
// Ends: both ends of one connection, created in one thread over FakeLinks.
#pragma once

#include "catch.h"
#include "fake_link.h"
#include "traffic.h"

namespace rondo::test {

/// The rows of the table to test: all that this host can use, or the one that RONDO_TEST_TRANSPORT names.
const std::vector<Transport>& tested_transports();

/// Runs a test for each of them, as `transport`.
#define FOR_EACH_TRANSPORT()                                              \
  const Transport& transport = tested_transports()[static_cast<size_t>(   \
      GENERATE(range(0, static_cast<int>(tested_transports().size()))))]; \
  INFO("transport " << transport.name)

struct Ends {
  std::shared_ptr<Wire> wire = std::make_shared<Wire>();
  ConnectionKey key = new_key();
  std::unique_ptr<Connection> dialler;
  std::unique_ptr<Connection> acceptor;

  Result<std::unique_ptr<Connection>> connect(const Transport& transport, const ConnectionParams& params,
                                              bool dials) {
    return transport.connect(std::make_unique<FakeLink>(wire, key, dials), params);
  }
};

inline std::unique_ptr<Connection> require_connection(Result<std::unique_ptr<Connection>> made) {
  INFO(made.status().message());
  REQUIRE(made.ok());
  return made.take();
}

/// Creates both ends, the dialler or the acceptor first.
inline Ends connect_ends(const Transport& transport, const ConnectionParams& params,
                         bool dialler_first = true, const ConnectionKey& key = new_key()) {
  Ends ends;
  ends.key = key;
  if (dialler_first) ends.dialler = require_connection(ends.connect(transport, params, true));
  ends.acceptor = require_connection(ends.connect(transport, params, false));
  if (!dialler_first) ends.dialler = require_connection(ends.connect(transport, params, true));
  return ends;
}

/// Lets all pairs of ends converse in one thread. The first fault; empty if all goes well.
inline std::string converse_together(const std::vector<Ends>& all, Conversation conversation) {
  std::vector<Talker> talkers;
  for (size_t i = 0; i < all.size(); ++i) {
    conversation.seed = i;
    talkers.emplace_back(*all[i].dialler, conversation, true);
    talkers.emplace_back(*all[i].acceptor, conversation, false);
  }
  const bool in_time = eventually([&] {
    bool done = true;
    for (Talker& talker : talkers) {
      while (talker.send() || talker.receive()) continue;
      done = talker.done() && done;
    }
    return done;
  });
  for (const Talker& talker : talkers)
    if (!talker.fault().empty()) return talker.fault();
  return in_time ? "" : "stuck";
}

/// Drives both ends until the receiver sees a message.
inline bool arrives(Connection& sender, Connection& receiver) {
  return eventually([&] {
    sender.flushed();
    return receiver.peek() != nullptr;
  });
}

/// Small values, so that everything wraps around soon.
inline ConnectionParams small_params(size_t slot_bytes = 1000, int slots = 3) {
  return {.slot_bytes = slot_bytes, .slots = slots, .sockets = 2, .sim_seed = 7, .sim_delay_us = 20};
}

}  // namespace rondo::test
