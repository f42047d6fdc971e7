// SPDX-License-Identifier: Apache-2.0
// RelayedConnection: a connection as a GPU uses it, through the FIFOs of a Relay. A slot is filled again as
// soon as the Relay returns it, so messages come to harm that leave it later.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "common/fifo.h"
#include "fake_gpu.h"
#include "transports/relay.h"
#include "transports/zero_copy.h"

namespace rondo::verbs_test {

class RelayedConnection final : public Connection {
 public:
  /// `gpu`: has the slots of long messages, gpu_bytes(); null: the host has.
  RelayedConnection(std::unique_ptr<Connection> connection, const ConnectionParams& params,
                    std::shared_ptr<FakeGpu> gpu = nullptr)
      : Connection(connection->slot_bytes()),
        connection_(std::move(connection)),
        gpu_(std::move(gpu)),
        known_(gpu_ != nullptr ? std::make_unique<AccessibleMemory>(gpu_->data(), gpu_->bytes(), gpu_)
                               : nullptr),
        lines_(lines_of(Relay::host_bytes(params, gpu_ != nullptr))),
        message_(lines_of(slot_bytes())),
        relay_(*connection_,
               {.host = reinterpret_cast<std::byte*>(lines_.data()),
                .slots = gpu_ != nullptr ? gpu_->data() : nullptr,
                .gpu = gpu_},
               params),
        to_relay_(relay_.outgoing()),
        from_relay_(relay_.incoming()) {}

  std::byte* acquire(size_t /*bytes*/) override {
    relay_.pump();
    return to_relay_.has_room() ? reinterpret_cast<std::byte*>(message_.data()) : nullptr;
  }
  void commit(size_t bytes, const Signature& signature) override {
    std::memcpy(seen(to_relay_.slot(bytes)), message_.data(), bytes);
    to_relay_.publish(bytes, 0, signature);
  }
  bool flushed() override {
    relay_.pump();
    return relay_.flushed();
  }
  const Arrival* peek() override {
    relay_.pump();
    const Arrival* const arrival = from_relay_.peek();
    if (arrival == nullptr) return nullptr;
    arrival_ = *arrival;
    arrival_.data = seen(arrival->data);
    return &arrival_;
  }
  void release() override { from_relay_.release(); }
  Status status() const override { return relay_.status(); }
  bool has_left() const override { return connection_->has_left(); }
  void look() override { connection_->look(); }
  Awaited awaited(Awaiting /*what*/) const override { return {}; }

 private:
  static size_t lines_of(size_t bytes) {
    return (bytes + sizeof(ReleasedCounter) - 1) / sizeof(ReleasedCounter);
  }
  std::byte* seen(const std::byte* at) const {
    return gpu_ != nullptr ? gpu_->seen(at) : const_cast<std::byte*>(at);
  }

  std::unique_ptr<Connection> connection_;
  Arrival arrival_;
  const std::shared_ptr<FakeGpu> gpu_;
  const std::unique_ptr<AccessibleMemory> known_;
  std::vector<ReleasedCounter> lines_;    // the memory of the FIFOs
  std::vector<ReleasedCounter> message_;  // the next to be sent
  Relay relay_;
  FifoSender to_relay_;
  FifoReceiver from_relay_;
};

}  // namespace rondo::verbs_test
