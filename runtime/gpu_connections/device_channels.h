// SPDX-License-Identifier: Apache-2.0
// DeviceChannels: a rank's FIFOs to its peers, for the device executor: in memory that the GPUs of a host
// share, or relayed by the proxy over a Connection. Used by the thread that makes calls, except as noted.
#pragma once

#include <compare>
#include <map>
#include <mutex>
#include <optional>

#include "gpu/memory.h"
#include "gpu/rdma_memory.h"
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
  /// Memory of the GPU that a connection sends from, and receives in.
  struct DirectSlots {
    std::shared_ptr<const gpu::RdmaMemory> memory;
    std::unique_ptr<AccessibleMemory> known;
  };
  /// What is connected at a time: of FIFOs in shared memory those of one protocol, and the first channel,
  /// which is all that plans with many lanes use, apart from the others.
  struct ChannelKey {
    int peer;
    uint16_t port;
    device::Protocol protocol = device::Protocol::Simple;
    bool further = false;
    auto operator<=>(const ChannelKey&) const = default;
  };
  struct DeviceChannel {
    gpu::Memory connections;           // LaneConnections, by channel
    std::optional<PeerMemory> memory;  // or what follows
    Connection* connection = nullptr;
    gpu::Memory fifos;           // of the relay
    DirectSlots slots;           // likewise, if they are the GPU's
    std::optional<Relay> relay;  // once it is known where they lie
    bool connected = false;
  };
  int channels_of(const ChannelKey& key) const { return key.further ? settings_.channels - 1 : 1; }
  Result<DeviceChannel*> line(const ChannelKey& key);
  Status map_memory(DeviceChannel& line, const ChannelKey& key);
  Result<bool> make_relay(DeviceChannel& line, int peer);
  Result<DirectSlots> direct_slots(ZeroCopy& zero_copy) const;
  Result<bool> poll_connect(DeviceChannel& line, const ChannelKey& key);

  ChannelSettings settings_;
  Ways ways_;
  std::mutex mutex_;  // guards the map and its relays, which the caller's thread adds and the proxy's uses
  std::map<ChannelKey, DeviceChannel> channels_;
};

}  // namespace rondo
