// SPDX-License-Identifier: Apache-2.0
#include "device_channels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "plan/device_tuning.h"

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
  RONDO_TRY_ASSIGN(DeviceChannel made,
                   ways_.shares_memory(peer) ? mapped_channel(peer, port) : relayed_channel(peer, port));
  const size_t connections = made.memory ? index_of(settings_.channels, 0) : 1;
  RONDO_TRY_ASSIGN(made.connections, gpu::Memory::allocate(gpu::MemoryKind::Device, settings_.device,
                                                           connections * sizeof(LaneConnection)));
  const std::lock_guard lock(mutex_);
  return &channels_.emplace(key, std::move(made)).first->second;
}

Result<DeviceChannels::DeviceChannel> DeviceChannels::mapped_channel(int peer, uint16_t port) {
  RONDO_TRY_ASSIGN(auto link, ways_.link(peer, port));
  PeerMemory::Params params{.device = settings_.device,
                            .slots = settings_.params.slots,
                            .channels = settings_.channels,
                            .kinds = {}};
  for (const Protocol protocol : kProtocols)
    params.kinds.push_back(kind_of(protocol, settings_.params.slot_bytes));
  DeviceChannel made;
  made.memory.emplace(std::move(link), std::move(params));
  return made;
}

Result<DeviceChannels::DeviceChannel> DeviceChannels::relayed_channel(int peer, uint16_t port) {
  RONDO_TRY_ASSIGN(Connection * connection, ways_.connect(peer, port));
  const size_t bytes = Relay::memory_bytes(settings_.params);
  DeviceChannel made;
  RONDO_TRY_ASSIGN(made.fifos, gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings_.device, bytes));
  std::memset(made.fifos.data(), 0, bytes);
  made.relay.emplace(*connection, made.fifos.data(), settings_.params);
  return made;
}

Result<bool> DeviceChannels::poll_connect() {
  bool all = true;
  for (auto& [key, line] : channels_) {
    if (line.connected) continue;
    const auto connected = poll_connect(line);
    RONDO_TRY(connected.status().within(
        fmt::format("connecting the GPU of rank {} with that of rank {}", settings_.rank, key.first)));
    line.connected = connected.value();
    all = all && line.connected;
  }
  return all;
}

Result<bool> DeviceChannels::poll_connect(DeviceChannel& line) const {
  std::vector<LaneConnection> connections;
  if (line.relay) {
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
