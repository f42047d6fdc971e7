#include "comm/device_links.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace rondo {
namespace {

using device::LaneConnection;
using device::Protocol;

constexpr std::array kProtocols{Protocol::Simple, Protocol::LL, Protocol::LL128};

/// Slots of lines hold short messages: longer ones are not sent so.
constexpr size_t kLLBytes = size_t{8} << 10;
constexpr size_t kLL128Bytes = size_t{32} << 10;

/// For the most chunks, each of which begins on a line of its own.
PeerMemory::Kind kind_of(Protocol protocol, size_t slot_bytes) {
  const size_t bytes = message_bytes(protocol, slot_bytes);
  const size_t rounded_up = protocol == Protocol::Simple ? 0 : kMostLineChunks * device::kLineBytes;
  return {.slot_bytes = bytes, .stride_bytes = device::slot_footprint(protocol, bytes, 1) + rounded_up};
}

size_t index_of(int channel, size_t kind) { return static_cast<size_t>(channel) * kProtocols.size() + kind; }

}  // namespace

size_t message_bytes(Protocol protocol, size_t slot_bytes) {
  switch (protocol) {
    case Protocol::LL: return std::min(slot_bytes, kLLBytes);
    case Protocol::LL128: return std::min(slot_bytes, kLL128Bytes);
    case Protocol::Simple: break;
  }
  return slot_bytes;
}

Result<LaneConnection*> DeviceLinks::connection(int peer, uint16_t port, int channel, Protocol protocol) {
  RONDO_TRY_ASSIGN(Line * of_peer, line(peer, port));
  auto* const connections = reinterpret_cast<LaneConnection*>(of_peer->connections.data());
  return connections + index_of(channel, static_cast<size_t>(protocol));
}

Result<DeviceLinks::Line*> DeviceLinks::line(int peer, uint16_t port) {
  const std::pair key(peer, port);
  if (const auto known = lines_.find(key); known != lines_.end()) return &known->second;
  RONDO_TRY_ASSIGN(Line made, ways_.shares_memory(peer) ? shared_line(peer, port) : relayed_line(peer, port));
  const size_t connections = made.memory ? index_of(settings_.channels, 0) : 1;
  RONDO_TRY_ASSIGN(made.connections, gpu::Memory::allocate(gpu::MemoryKind::Device, settings_.device,
                                                           connections * sizeof(LaneConnection)));
  const std::lock_guard lock(mutex_);
  return &lines_.emplace(key, std::move(made)).first->second;
}

Result<DeviceLinks::Line> DeviceLinks::shared_line(int peer, uint16_t port) {
  RONDO_TRY_ASSIGN(auto link, ways_.link(peer, port));
  PeerMemory::Params params{.device = settings_.device,
                            .slots = settings_.params.slots,
                            .channels = settings_.channels,
                            .kinds = {}};
  for (const Protocol protocol : kProtocols)
    params.kinds.push_back(kind_of(protocol, settings_.params.slot_bytes));
  Line made;
  made.memory.emplace(std::move(link), std::move(params));
  return made;
}

Result<DeviceLinks::Line> DeviceLinks::relayed_line(int peer, uint16_t port) {
  RONDO_TRY_ASSIGN(Connection * connection, ways_.connect(peer, port));
  const size_t bytes = Relay::memory_bytes(settings_.params);
  Line made;
  RONDO_TRY_ASSIGN(made.fifos, gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings_.device, bytes));
  std::memset(made.fifos.data(), 0, bytes);
  made.relay.emplace(*connection, made.fifos.data(), settings_.params);
  return made;
}

Result<bool> DeviceLinks::stand() {
  bool all = true;
  for (auto& [key, line] : lines_) {
    if (line.stands) continue;
    const auto stands = stand(line);
    RONDO_TRY(stands.status().within(
        fmt::format("connecting the GPU of rank {} with that of rank {}", settings_.rank, key.first)));
    line.stands = stands.value();
    all = all && line.stands;
  }
  return all;
}

Result<bool> DeviceLinks::stand(Line& line) const {
  std::vector<LaneConnection> connections;
  if (line.relay) {
    connections.push_back({.out = line.relay->outgoing(), .in = line.relay->incoming()});
  } else {
    RONDO_TRY_ASSIGN(const bool stands, line.memory->advance());
    if (!stands) return false;
    for (int channel = 0; channel < settings_.channels; ++channel)
      for (size_t kind = 0; kind < kProtocols.size(); ++kind)
        connections.push_back(
            {.out = line.memory->outgoing(kind, channel), .in = line.memory->incoming(kind, channel)});
  }
  RONDO_TRY(gpu::upload(settings_.device, line.connections.data(), connections.data(),
                        connections.size() * sizeof(LaneConnection)));
  return true;
}

int DeviceLinks::waits_for() const {
  const auto late =
      std::find_if(lines_.begin(), lines_.end(), [](const auto& one) { return !one.second.stands; });
  return late == lines_.end() ? -1 : late->first.first;
}

bool DeviceLinks::pump() {
  const std::lock_guard lock(mutex_);
  bool moved = false;
  for (auto& [key, line] : lines_)
    if (line.relay) moved = line.relay->pump() || moved;
  return moved;
}

bool DeviceLinks::flushed() {
  const std::lock_guard lock(mutex_);
  bool all = true;
  for (auto& [key, line] : lines_)
    if (line.relay) all = line.relay->flushed() && all;
  return all;
}

Status DeviceLinks::status() {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, line] : lines_)
    if (line.relay) RONDO_TRY(line.relay->status());
  return {};
}

}  // namespace rondo
