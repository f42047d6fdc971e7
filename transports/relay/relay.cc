// SPDX-License-Identifier: Apache-2.0
#include "transports/relay.h"

#include <algorithm>
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

size_t bytes_before_slots(const AgreedParams& params) {
  return sizeof(ReleasedCounter) + aligned(params.slots * sizeof(SlotHeader));
}

/// A GPU has twice the connection's slots, so that the peer knows a place before it can send what goes there,
/// even if the GPU empties slots late: copying to a GPU takes longer.
AgreedParams incoming_params(const ConnectionParams& params, bool on_gpu) {
  AgreedParams incoming = agreed(params);
  if (on_gpu) incoming.slots *= 2;
  return incoming;
}

size_t slots_bytes(const AgreedParams& params) { return params.slots * aligned(params.slot_bytes); }

/// In memory of the host.
size_t fifo_bytes(const AgreedParams& params, bool on_gpu) {
  return bytes_before_slots(params) + (on_gpu ? params.slots * Relay::kLong : slots_bytes(params));
}

/// One direction: released counter, headers, slots. `slots`: the GPU's; null: they are the host's.
FifoLayout fifo_at(std::byte* host, std::byte* slots, const AgreedParams& params) {
  std::byte* const behind = host + bytes_before_slots(params);
  FifoLayout fifo{.headers = reinterpret_cast<SlotHeader*>(host + sizeof(ReleasedCounter)),
                  .released = reinterpret_cast<ReleasedCounter*>(host),
                  .memory = slots != nullptr ? slots : behind,
                  .stride_bytes = aligned(params.slot_bytes),
                  .slot_bytes = params.slot_bytes,
                  .slots = params.slots};
  if (slots == nullptr) return fifo;
  fifo.short_memory = behind;
  fifo.short_bytes = Relay::kLong;
  return fifo;
}

}  // namespace

struct Relay::Ends {
  Ends(Connection& carrier, const FifoLayout& out, const FifoLayout& in,
       std::shared_ptr<const GpuMemory> owner)
      : connection(carrier), outgoing(out), incoming(in), gpu(std::move(owner)) {}
  Connection& connection;
  FifoLayout outgoing;
  FifoLayout incoming;
  std::shared_ptr<const GpuMemory> gpu;  // that has the slots of long messages
  FifoReceiver from_gpu{outgoing};
  FifoSender to_gpu{incoming};

  /// The slots, where messages leave from them and go to them; the GPU's are known already.
  std::optional<AccessibleMemory> outgoing_slots, incoming_slots;
  std::optional<ExportableMemory> offered;
  uint64_t copied = 0;  // the latest messages, after the last that was posted
  bool names_places = false;
  uint64_t expected = 0;  // messages of which the connection knows the slot, or has to know none
  bool are_long = false;  // the messages that come
  Status failure;         // of copying

  void offer_slots() {
    ZeroCopy* const zero_copy = connection.zero_copy();
    if (zero_copy == nullptr) return;
    names_places = zero_copy->room_ahead().has_value();
    const bool posts = zero_copy->held().has_value();
    if (gpu == nullptr && posts)
      outgoing_slots.emplace(outgoing.memory, outgoing.slots * outgoing.stride_bytes);
    if (gpu == nullptr && names_places)
      incoming_slots.emplace(incoming.memory, incoming.slots * incoming.stride_bytes);
    if (posts) offered = find_accessible(outgoing.memory, 1);
  }
  /// Between a slot of the GPU's and one of the connection's.
  void copy(std::byte* to, const std::byte* from, size_t bytes) {
    if (gpu == nullptr || bytes < kLong)
      std::memcpy(to, from, bytes);
    else if (const Status copied_it = gpu->copy(to, from, bytes); failure.ok())
      failure = copied_it;
  }
  bool send() {
    const Arrival* const message = from_gpu.peek();
    if (message == nullptr || !(posted(*message) || was_copied(*message))) return false;
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
    std::byte* slot = connection.acquire(message.bytes);
    if (slot == nullptr) return false;
    copy(slot, message.data, message.bytes);
    if (!failure.ok()) return false;
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
  /// Tells the connection which slots the next messages go to, as far as the GPU has emptied them.
  void expect_ahead() {
    ZeroCopy& zero_copy = *connection.zero_copy();
    to_gpu.returned(to_gpu.sent());
    expected = std::max(expected, to_gpu.sent());
    for (; expected != to_gpu.seen_returned() + incoming.slots && zero_copy.room_ahead() > size_t{0};
         ++expected)
      zero_copy.expect_next(to_gpu.slot_of(expected + 1), incoming.slot_bytes, nullptr);
  }
  bool receive() {
    if (!to_gpu.has_room()) return false;
    if (names_places && are_long) expect_ahead();
    const Arrival* const message = connection.peek();
    if (message == nullptr) return false;
    are_long = message->bytes >= kLong || (gpu != nullptr && are_long);
    std::byte* const slot = to_gpu.slot(message->bytes);
    if (message->data != slot) copy(slot, message->data, message->bytes);
    if (!failure.ok()) return false;
    to_gpu.publish(message->bytes, 0, *message->signature);
    connection.release();
    return true;
  }
  /// Whether the connection may still access slots.
  bool uses_slots() const { return has_posted() || expected > to_gpu.sent(); }
};

size_t Relay::host_bytes(const ConnectionParams& params, bool on_gpu) {
  return fifo_bytes(agreed(params), on_gpu) + fifo_bytes(incoming_params(params, on_gpu), on_gpu);
}
size_t Relay::gpu_bytes(const ConnectionParams& params) {
  return slots_bytes(agreed(params)) + slots_bytes(incoming_params(params, true));
}

Relay::Relay(Connection& connection, FifoMemory memory, const ConnectionParams& params) {
  const AgreedParams agreed = rondo::agreed(params);
  const bool on_gpu = memory.slots != nullptr;
  const FifoLayout outgoing = fifo_at(memory.host, memory.slots, agreed);
  const FifoLayout incoming =
      fifo_at(memory.host + fifo_bytes(agreed, on_gpu), on_gpu ? memory.slots + slots_bytes(agreed) : nullptr,
              incoming_params(params, on_gpu));
  ends_ = std::make_unique<Ends>(connection, outgoing, incoming, std::move(memory.gpu));
  ends_->offer_slots();
}
Relay::~Relay() {
  if (ends_ != nullptr && ends_->uses_slots()) ends_->connection.zero_copy()->cancel();
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
  return ends_->from_gpu.peek() == nullptr && is_flushed;
}

Status Relay::status() const {
  RONDO_TRY(ends_->from_gpu.check());
  RONDO_TRY(ends_->to_gpu.check());
  RONDO_TRY(ends_->failure);
  return ends_->connection.status();
}

}  // namespace rondo
