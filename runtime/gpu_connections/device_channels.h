// SPDX-License-Identifier: Apache-2.0
// DeviceChannels: a rank's FIFOs to its peers, for the device executor: in memory that the GPUs of a host
// share, or relayed by the proxy over a Connection. Used by the thread that makes calls, except as noted.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "gpu/memory.h"
#include "gpu_connections/device_executor.h"
#include "kernels/device_call.h"
#include "transports/peer_memory.h"
#include "transports/relay.h"

namespace rondo {

class DeviceChannels {
 public:
  using Ways = DeviceExecutor::Ways;
  struct ChannelSettings {
    int rank = 0;  // this rank
    int device = 0;
    int channels = 1;  // of PeerMemory; relayed FIFOs have one
    ConnectionParams params;
  };
  DeviceChannels(ChannelSettings settings, Ways ways) : settings_(settings), ways_(std::move(ways)) {}

  /// The connection's future address in device memory; usable once poll_connect() returns true.
  Result<device::LaneConnection*> connection(int peer, uint16_t port, int channel, device::Protocol protocol);
  /// Makes progress on connecting; true once all requested connections are established.
  Result<bool> poll_connect();
  /// A peer that has not connected yet; -1: none.
  int waits_for() const;

  // Any thread:
  /// Relays pending messages; true if there were any.
  bool pump();
  /// Whether every message the GPU has published has been sent.
  bool flushed();
  /// Sticky error of the connections.
  Status status();

 private:
  struct DeviceChannel {
    gpu::Memory connections;           // LaneConnections, by channel and protocol
    std::optional<PeerMemory> memory;  // or `fifos` and `relay`
    gpu::Memory fifos;
    std::optional<Relay> relay;
    bool connected = false;
  };
  Result<DeviceChannel*> line(int peer, uint16_t port);
  Result<DeviceChannel> mapped_channel(int peer, uint16_t port);
  Result<DeviceChannel> relayed_channel(int peer, uint16_t port);
  Result<bool> poll_connect(DeviceChannel& line) const;

  ChannelSettings settings_;
  Ways ways_;
  std::mutex mutex_;  // guards the map, which the caller's thread changes and the proxy's thread reads
  std::map<std::pair<int, uint16_t>, DeviceChannel> channels_;
};

}  // namespace rondo
