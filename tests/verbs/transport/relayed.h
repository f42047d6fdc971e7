// SPDX-License-Identifier: Apache-2.0
// RelayedConnection: a connection as a GPU uses it, through the FIFOs of a Relay. A slot is filled again as
// soon as the Relay returns it, so messages come to harm that leave it later.
#pragma once

#include <memory>
#include <vector>

#include "common/fifo.h"
#include "transports/relay.h"

namespace rondo::verbs_test {

class RelayedConnection final : public Connection {
 public:
  RelayedConnection(std::unique_ptr<Connection> connection, const ConnectionParams& params)
      : Connection(connection->slot_bytes()),
        connection_(std::move(connection)),
        lines_((Relay::memory_bytes(params) + sizeof(ReleasedCounter) - 1) / sizeof(ReleasedCounter)),
        relay_(*connection_, reinterpret_cast<std::byte*>(lines_.data()), params),
        to_relay_(relay_.outgoing()),
        from_relay_(relay_.incoming()) {}

  std::byte* acquire() override {
    relay_.pump();
    return to_relay_.has_room() ? to_relay_.slot() : nullptr;
  }
  void commit(size_t bytes, const Signature& signature) override { to_relay_.publish(bytes, 0, signature); }
  bool flushed() override {
    relay_.pump();
    return relay_.flushed();
  }
  std::optional<Arrival> peek() override {
    relay_.pump();
    return from_relay_.peek();
  }
  void release() override { from_relay_.release(); }
  Status status() const override { return relay_.status(); }
  bool has_left() const override { return connection_->has_left(); }
  void look() override { connection_->look(); }
  Awaited awaited(Awaiting /*what*/) const override { return {}; }

 private:
  std::unique_ptr<Connection> connection_;
  std::vector<ReleasedCounter> lines_;  // the memory of the FIFOs
  Relay relay_;
  FifoSender to_relay_;
  FifoReceiver from_relay_;
};

}  // namespace rondo::verbs_test
