// DeviceLinks: what a rank's GPU is connected with its peers by, for the device's executor: FIFOs in memory
// that the GPUs of a host share, or FIFOs that the proxy relays over a Connection. Used by the thread that
// makes calls, except where it says otherwise.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "gpu/memory.h"
#include "kernels/device_call.h"
#include "transports/peer_memory.h"
#include "transports/relay.h"

namespace rondo {

class DeviceLinks {
 public:
  /// Ways to a peer, for a lane's port: a Link for PeerMemory, or a Connection to relay over.
  struct Ways {
    std::function<bool(int peer)> shares_memory;
    std::function<Result<std::unique_ptr<Link>>(int peer, uint16_t port)> link;
    std::function<Result<Connection*>(int peer, uint16_t port)> connect;
  };
  struct Settings {
    int rank = 0;  // own
    int device = 0;
    int channels = 1;  // of PeerMemory; what is relayed has one
    ConnectionParams params;
  };
  DeviceLinks(Settings settings, Ways ways) : settings_(std::move(settings)), ways_(std::move(ways)) {}

  /// Where the connection will be in the device's memory; it may be used once stand() says so.
  Result<device::LaneConnection*> connection(int peer, uint16_t port, int channel, device::Protocol protocol);
  /// Goes on with connecting; true once all that were asked for stand.
  Result<bool> stand();
  /// A peer that has not come; -1: none.
  int waits_for() const;

  // Any thread:
  /// Moves messages that are relayed; whether there were any.
  bool pump();
  /// Whether all that the GPU has sent is on its way.
  bool flushed();
  /// Sticky error of the connections.
  Status status();

 private:
  struct Line {
    gpu::Memory connections;           // LaneConnections, by channel and protocol
    std::optional<PeerMemory> memory;  // or:
    gpu::Memory fifos;
    std::optional<Relay> relay;
    bool stands = false;
  };
  Result<Line*> line(int peer, uint16_t port);
  Result<Line> shared_line(int peer, uint16_t port);
  Result<Line> relayed_line(int peer, uint16_t port);
  Result<bool> stand(Line& line) const;

  Settings settings_;
  Ways ways_;
  std::mutex mutex_;  // guards the map against the proxy's thread; the caller's alone changes it
  std::map<std::pair<int, uint16_t>, Line> lines_;
};

/// The longest message by that protocol, where Simple's is `slot_bytes`.
size_t message_bytes(device::Protocol protocol, size_t slot_bytes);
/// The most chunks in such a message.
inline constexpr int kMostLineChunks = 16;

}  // namespace rondo
