// SPDX-License-Identifier: Apache-2.0
#include "transports/relay.h"

#include <cstring>

#include "common/fifo.h"
#include "common/params.h"

namespace rondo {
namespace {

constexpr size_t kAlignment = sizeof(ReleasedCounter);

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// One direction: released counter, headers, slots.
FifoLayout fifo_at(std::byte* memory, const AgreedParams& params) {
  const size_t headers = sizeof(ReleasedCounter);
  return {.headers = reinterpret_cast<SlotHeader*>(memory + headers),
          .released = reinterpret_cast<ReleasedCounter*>(memory),
          .memory = memory + headers + aligned(params.slots * sizeof(SlotHeader)),
          .stride_bytes = aligned(params.slot_bytes),
          .slot_bytes = params.slot_bytes,
          .slots = params.slots};
}

size_t fifo_bytes(const AgreedParams& params) {
  return sizeof(ReleasedCounter) + aligned(params.slots * sizeof(SlotHeader)) +
         params.slots * aligned(params.slot_bytes);
}

}  // namespace

struct Relay::Ends {
  Connection& connection;
  FifoLayout outgoing;
  FifoLayout incoming;
  FifoReceiver from_gpu{outgoing};
  FifoSender to_gpu{incoming};

  bool send() {
    const auto& message = from_gpu.peek();
    if (!message) return false;
    std::byte* slot = connection.acquire();
    if (slot == nullptr) return false;
    std::memcpy(slot, message->data, message->bytes);
    connection.commit(message->bytes, *message->signature);
    from_gpu.release();
    return true;
  }
  bool receive() {
    if (!to_gpu.has_room()) return false;
    const auto message = connection.peek();
    if (!message) return false;
    std::memcpy(to_gpu.slot(), message->data, message->bytes);
    to_gpu.publish(message->bytes, 0, *message->signature);
    connection.release();
    return true;
  }
};

size_t Relay::memory_bytes(const ConnectionParams& params) { return 2 * fifo_bytes(agreed(params)); }

Relay::Relay(Connection& connection, std::byte* memory, const ConnectionParams& params)
    : ends_(new Ends{connection, fifo_at(memory, agreed(params)),
                     fifo_at(memory + fifo_bytes(agreed(params)), agreed(params))}) {}
Relay::~Relay() = default;
Relay::Relay(Relay&&) noexcept = default;

FifoLayout Relay::outgoing() const { return ends_->outgoing; }
FifoLayout Relay::incoming() const { return ends_->incoming; }

bool Relay::pump() {
  const bool sent = ends_->send();
  const bool received = ends_->receive();
  ends_->connection.flushed();
  return sent || received;
}

bool Relay::flushed() { return !ends_->from_gpu.peek() && ends_->connection.flushed(); }

Status Relay::status() const {
  RONDO_TRY(ends_->from_gpu.check());
  RONDO_TRY(ends_->to_gpu.check());
  return ends_->connection.status();
}

}  // namespace rondo
