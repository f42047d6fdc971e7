// SPDX-License-Identifier: Apache-2.0
#include "device_channels.h"

#include <algorithm>
#include <array>
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

constexpr std::array kProtocols{Protocol::Simple, Protocol::LL, Protocol::LL128};

/// Strides allow for the max number of chunks, each of which begins on its own line.
PeerMemory::FifoKind kind_of(Protocol protocol, size_t slot_bytes) {
  const size_t bytes = message_bytes(protocol, slot_bytes);
  const size_t rounded_up = protocol == Protocol::Simple ? 0 : kMaxLineChunks * device::kLineBytes;
  return {.slot_bytes = bytes, .stride_bytes = device::slot_footprint(protocol, bytes, 1) + rounded_up};
}

size_t index_of(int channel, size_t kind) { return static_cast<size_t>(channel) * kProtocols.size() + kind; }

}  // namespace

Result<LaneConnection*> DeviceChannels::connection(int peer, uint16_t port, int channel, Protocol protocol) {
  RONDO_TRY_ASSIGN(DeviceChannel * of_peer, line(peer, port));
  auto* const connections = reinterpret_cast<LaneConnection*>(of_peer->connections.data());
  return connections + index_of(channel, static_cast<size_t>(protocol));
}

Result<DeviceChannels::DeviceChannel*> DeviceChannels::line(int peer, uint16_t port) {
  const std::pair key(peer, port);
  if (const auto known = channels_.find(key); known != channels_.end()) return &known->second;
  DeviceChannel made;
  if (ways_.shares_memory(peer)) {
    RONDO_TRY(map_memory(made, peer, port));
  } else {
    RONDO_TRY_ASSIGN(made.connection, ways_.connect(peer, port));
  }
  const size_t connections = made.memory ? index_of(settings_.channels, 0) : 1;
  RONDO_TRY_ASSIGN(made.connections, gpu::Memory::allocate(gpu::MemoryKind::Device, settings_.device,
                                                           connections * sizeof(LaneConnection)));
  const std::lock_guard lock(mutex_);
  return &channels_.emplace(key, std::move(made)).first->second;
}

Status DeviceChannels::map_memory(DeviceChannel& line, int peer, uint16_t port) {
  RONDO_TRY_ASSIGN(auto link, ways_.link(peer, port));
  PeerMemory::Params params{.device = settings_.device,
                            .slots = settings_.params.slots,
                            .channels = settings_.channels,
                            .kinds = {}};
  for (const Protocol protocol : kProtocols)
    params.kinds.push_back(kind_of(protocol, settings_.params.slot_bytes));
  line.memory.emplace(std::move(link), std::move(params));
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
    const auto connected = poll_connect(line, key.first);
    RONDO_TRY(connected.status().within(
        fmt::format("connecting the GPU of rank {} with that of rank {}", settings_.rank, key.first)));
    line.connected = connected.value();
    all = all && line.connected;
  }
  return all;
}

Result<bool> DeviceChannels::poll_connect(DeviceChannel& line, int peer) {
  std::vector<LaneConnection> connections;
  if (!line.memory) {
    RONDO_TRY_ASSIGN(const bool made, make_relay(line, peer));
    if (!made) return false;
    connections.push_back({.out = line.relay->outgoing(), .in = line.relay->incoming()});
  } else {
    RONDO_TRY_ASSIGN(const bool connected, line.memory->advance());
    if (!connected) return false;
    for (int channel = 0; channel < settings_.channels; ++channel)
      for (size_t kind = 0; kind < kProtocols.size(); ++kind)
        connections.push_back(
            {.out = line.memory->outgoing(kind, channel), .in = line.memory->incoming(kind, channel)});
  }
  RONDO_TRY(gpu::upload(settings_.device, line.connections.data(), connections.data(),
                        connections.size() * sizeof(LaneConnection)));
  return true;
}

int DeviceChannels::waits_for() const {
  const auto late =
      std::find_if(channels_.begin(), channels_.end(), [](const auto& one) { return !one.second.connected; });
  return late == channels_.end() ? -1 : late->first.first;
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
