// SPDX-License-Identifier: Apache-2.0
#include "transports/relay.h"

#include <cstring>
#include <optional>

#include "base/exportable.h"
#include "common/fifo.h"
#include "common/params.h"
#include "transports/zero_copy.h"

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

  /// The outgoing slots, where messages leave from them.
  std::optional<AccessibleMemory> slots;
  std::optional<ExportableMemory> offered;
  uint64_t copied = 0;  // the latest messages, after the last that was posted

  void offer_slots() {
    if (connection.zero_copy() == nullptr || !connection.zero_copy()->held()) return;
    slots.emplace(outgoing.memory, outgoing.slots * outgoing.stride_bytes);
    offered = find_accessible(outgoing.memory, 1);
  }
  bool send() {
    const auto& message = from_gpu.peek();
    if (!message || !(posted(*message) || was_copied(*message))) return false;
    from_gpu.keep();
    return true;
  }
  bool posted(const Arrival& message) {
    if (!offered || !connection.zero_copy()->held()) return false;
    connection.zero_copy()->export_memory(*offered);
    if (connection.zero_copy()->post_mode(message.data, message.bytes) != ZeroCopy::PostMode::Mapped ||
        !connection.zero_copy()->post(message.data, message.bytes, *message.signature))
      return false;
    copied = 0;
    return true;
  }
  bool was_copied(const Arrival& message) {
    std::byte* slot = connection.acquire();
    if (slot == nullptr) return false;
    std::memcpy(slot, message.data, message.bytes);
    connection.commit(message.bytes, *message.signature);
    ++copied;
    return true;
  }
  bool has_posted() const { return copied < from_gpu.kept(); }
  /// Those of messages that the connection reads no more.
  void return_slots(bool flushed) {
    const size_t held =
        flushed || !has_posted() ? 0 : connection.zero_copy()->held().value_or(from_gpu.kept());
    from_gpu.return_all_but(held <= copied ? 0 : held);
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
                     fifo_at(memory + fifo_bytes(agreed(params)), agreed(params))}) {
  ends_->offer_slots();
}
Relay::~Relay() {
  if (ends_ != nullptr && ends_->has_posted()) ends_->connection.zero_copy()->cancel();
}
Relay::Relay(Relay&&) noexcept = default;

FifoLayout Relay::outgoing() const { return ends_->outgoing; }
FifoLayout Relay::incoming() const { return ends_->incoming; }

bool Relay::pump() {
  const bool sent = ends_->send();
  const bool received = ends_->receive();
  ends_->return_slots(ends_->connection.flushed());
  return sent || received;
}

bool Relay::flushed() {
  const bool is_flushed = ends_->connection.flushed();
  ends_->return_slots(is_flushed);
  return !ends_->from_gpu.peek() && is_flushed;
}

Status Relay::status() const {
  RONDO_TRY(ends_->from_gpu.check());
  RONDO_TRY(ends_->to_gpu.check());
  return ends_->connection.status();
}

}  // namespace rondo
