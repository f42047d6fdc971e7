// SPDX-License-Identifier: Apache-2.0
#include "device_channels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "gpu/shared_memory.h"
#include "plan/device_tuning.h"
#include "transports/zero_copy.h"

namespace rondo {
namespace {

using device::LaneConnection;
using device::Protocol;

/// Strides allow for the max number of chunks, each of which begins on its own line.
PeerMemory::FifoKind kind_of(Protocol protocol, size_t slot_bytes) {
  const size_t bytes = message_bytes(protocol, slot_bytes);
  const size_t rounded_up = protocol == Protocol::Simple ? 0 : kMaxLineChunks * device::kLineBytes;
  return {.slot_bytes = bytes, .stride_bytes = device::slot_footprint(protocol, bytes, 1) + rounded_up};
}

/// The port by which the ends of one key's FIFOs meet: a lane has six.
uint16_t meeting_port(uint16_t port, Protocol protocol, bool further) {
  constexpr int kProtocols = 3;
  return static_cast<uint16_t>((port * kProtocols + static_cast<int>(protocol)) * 2 + (further ? 1 : 0));
}

}  // namespace

Result<LaneConnection*> DeviceChannels::connection(int peer, uint16_t port, int channel, Protocol protocol) {
  ChannelKey key{.peer = peer, .port = port};
  if (ways_.shares_memory(peer)) {
    key.protocol = protocol;
    key.further = channel > 0;
  }
  RONDO_TRY_ASSIGN(DeviceChannel * of_peer, line(key));
  auto* const connections = reinterpret_cast<LaneConnection*>(of_peer->connections.data());
  return connections + (key.further ? channel - 1 : 0);
}

Result<DeviceChannels::DeviceChannel*> DeviceChannels::line(const ChannelKey& key) {
  if (const auto known = channels_.find(key); known != channels_.end()) return &known->second;
  DeviceChannel made;
  if (ways_.shares_memory(key.peer)) {
    RONDO_TRY(map_memory(made, key));
  } else {
    RONDO_TRY_ASSIGN(made.connection, ways_.connect(key.peer, key.port));
  }
  const size_t bytes = static_cast<size_t>(channels_of(key)) * sizeof(LaneConnection);
  RONDO_TRY_ASSIGN(made.connections, gpu::Memory::allocate(gpu::MemoryKind::Device, settings_.device, bytes));
  const std::lock_guard lock(mutex_);
  return &channels_.emplace(key, std::move(made)).first->second;
}

Status DeviceChannels::map_memory(DeviceChannel& line, const ChannelKey& key) {
  RONDO_TRY_ASSIGN(auto link, ways_.link(key.peer, meeting_port(key.port, key.protocol, key.further)));
  line.memory.emplace(std::move(link),
                      PeerMemory::Params{.device = settings_.device,
                                         .slots = settings_.params.slots,
                                         .channels = channels_of(key),
                                         .kinds = {kind_of(key.protocol, settings_.params.slot_bytes)}});
  return {};
}

/// An error: the reason why the slots must be the host's.
Result<DeviceChannels::DirectSlots> DeviceChannels::direct_slots(ZeroCopy& zero_copy) const {
  const size_t bytes = Relay::gpu_bytes(settings_.params);
  if (const std::string obstacle = zero_copy.gpu_obstacle(); !obstacle.empty())
    return error(Code::Unsupported, "{}", obstacle);
  if (settings_.params.slot_bytes < Relay::kLong)
    return error(Code::Unsupported, "slots of {} bytes are short", settings_.params.slot_bytes);
  DirectSlots made;
  RONDO_TRY_ASSIGN(made.memory, gpu::RdmaMemory::allocate(settings_.device, bytes));
  made.known = std::make_unique<AccessibleMemory>(made.memory->data(), made.memory->bytes(), made.memory);
  zero_copy.export_memory(*find_accessible(made.memory->data(), bytes));
  if (zero_copy.can_post(made.memory->data(), settings_.params.slot_bytes)) return made;
  return error(Code::Unsupported, "its memory was not registered");
}

/// False while it is not known over which transport and ports the connection goes.
Result<bool> DeviceChannels::make_relay(DeviceChannel& line, int peer) {
  ZeroCopy* const zero_copy = line.connection->zero_copy();
  if (zero_copy != nullptr && zero_copy->room_ahead() == size_t{0}) {
    line.connection->look();
    RONDO_TRY(line.connection->status());
    return false;
  }
  const gpu::OutsideCapture outside;
  DirectSlots slots;
  if (zero_copy != nullptr) {
    auto made = direct_slots(*zero_copy);
    if (made.ok()) slots = made.take();
    log().info("messages between GPU {} and rank {} pass through memory of the {}{}", settings_.device, peer,
               slots.memory != nullptr ? "GPU" : "host: ", made.status().message());
  }
  const bool on_gpu = slots.memory != nullptr;
  const size_t bytes = Relay::host_bytes(settings_.params, on_gpu);
  RONDO_TRY_ASSIGN(line.fifos, gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings_.device, bytes));
  std::memset(line.fifos.data(), 0, bytes);
  const std::lock_guard lock(mutex_);
  line.slots = std::move(slots);
  line.relay.emplace(*line.connection,
                     Relay::FifoMemory{.host = line.fifos.data(),
                                       .slots = on_gpu ? line.slots.memory->data() : nullptr,
                                       .gpu = line.slots.memory},
                     settings_.params);
  return true;
}

Result<bool> DeviceChannels::poll_connect() {
  bool all = true;
  for (auto& [key, line] : channels_) {
    if (line.connected) continue;
    const auto connected = poll_connect(line, key);
    RONDO_TRY(connected.status().within(
        fmt::format("connecting the GPU of rank {} with that of rank {}", settings_.rank, key.peer)));
    line.connected = connected.value();
    all = all && line.connected;
  }
  return all;
}

Result<bool> DeviceChannels::poll_connect(DeviceChannel& line, const ChannelKey& key) {
  std::vector<LaneConnection> connections;
  if (!line.memory) {
    RONDO_TRY_ASSIGN(const bool made, make_relay(line, key.peer));
    if (!made) return false;
    connections.push_back({.out = line.relay->outgoing(), .in = line.relay->incoming()});
  } else {
    RONDO_TRY_ASSIGN(const bool connected, line.memory->advance());
    if (!connected) return false;
    for (int channel = 0; channel < channels_of(key); ++channel)
      connections.push_back(
          {.out = line.memory->outgoing(0, channel), .in = line.memory->incoming(0, channel)});
  }
  RONDO_TRY(gpu::upload(settings_.device, line.connections.data(), connections.data(),
                        connections.size() * sizeof(LaneConnection)));
  return true;
}

int DeviceChannels::waits_for() const {
  const auto late =
      std::find_if(channels_.begin(), channels_.end(), [](const auto& one) { return !one.second.connected; });
  return late == channels_.end() ? -1 : late->first.peer;
}

bool DeviceChannels::pump() {
  const std::lock_guard lock(mutex_);
  bool moved = false;
  for (auto& [key, line] : channels_)
    if (line.relay) moved = line.relay->pump() || moved;
  return moved;
}

bool DeviceChannels::flushed() {
  const std::lock_guard lock(mutex_);
  bool all = true;
  for (auto& [key, line] : channels_)
    if (line.relay) all = line.relay->flushed() && all;
  return all;
}

Status DeviceChannels::status() {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, line] : channels_)
    if (line.relay) RONDO_TRY(line.relay->status());
  return {};
}

}  // namespace rondo
