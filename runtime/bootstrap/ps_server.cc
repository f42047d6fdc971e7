// SPDX-License-Identifier: Apache-2.0
#include "ps_server.h"

#include <unistd.h>

#include <string>

#include "base/log.h"
#include "health/flight_text.h"
#include "net/handshake.h"
#include "net/socket.h"

namespace rondo {
namespace {

/// What a process tells at once: a few hundred KB at most, which the service thread writes within few ms.
constexpr FlightExtent kExtent{.comms = 64, .calls = 8};

}  // namespace

std::unique_ptr<TextServer> start_ps_server(EventLoop& event_loop) {
  auto listener = listen_unix(fmt::format("rondo-ps-{}-{}-{:016x}", ::geteuid(), ::getpid(), random_u64()),
                              TextServer::kBacklog);
  if (!listener.ok()) {
    log().info("rondo-ps will not see this process: {}", listener.status().text());
    return nullptr;
  }
  return std::make_unique<TextServer>(event_loop, std::move(listener.value()),
                                      [] { return flight_text(recorded_comms(), "request", kExtent); });
}

}  // namespace rondo
