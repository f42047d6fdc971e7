// SPDX-License-Identifier: Apache-2.0
// Transport: a way to move slots between two ranks, and the table of all transports.
//
// To add one, add a folder in transports/ that defines its row, and its name to the list in meson.build; the
// conformance suite in tests/ runs over the table. The runtime picks the first transport whose reaches()
// accepts the pair: both ends reach the same decision because both hold the same two Endpoints.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "transports/connection.h"
#include "transports/link_cost.h"

namespace rondo {

/// The ports of its host that a rank's connections use, each for an equal part of what they send.
struct NearPorts {
  static constexpr int kMax = 32;
  uint32_t rails = 0;      // bit i: port i of the host; 0: unknown
  uint32_t rate_Gbps = 0;  // of each; of the slowest, if they differ
};

/// The networks, other than those of IP, over which a rank can connect to others. Travels as it is.
struct Fabrics {
  static constexpr int kMaxBits = 16;       // of one transport
  static constexpr int kMaxTransports = 4;  // that have any
  uint64_t bits = 0;
  // Of the transports that have bits:
  std::array<uint16_t, kMaxTransports> rates_Gbps{};  // of a connection; 0: unknown
  std::array<NearPorts, kMaxTransports> ports{};
};

/// What every rank knows about every other: ranks of one host have equal `host`, ranks of one process are
/// equal.
struct Endpoint {
  uint64_t host = 0;
  uint64_t process = 0;
  Fabrics fabrics;  // as UsableFabrics says; not compared
  friend bool operator==(const Endpoint& a, const Endpoint& b) {
    return a.host == b.host && a.process == b.process;
  }
};

/// Identifies one connection of a session; the same at both ends.
struct ConnectionKey {
  uint64_t session = 0;
  uint64_t communicator = 0;
  uint16_t port = 0;  // a Schedule's lane, or the port of sends and receives
  int dialler = 0;    // session rank that opens the connection
  int acceptor = 0;   // session rank that accepts it
  friend auto operator<=>(const ConnectionKey&, const ConnectionKey&) = default;
};

enum class Route { Unix, Tcp };

/// Provided by the runtime to join the two ends of a connection: authenticated sockets between the two
/// processes. The key says which end dials.
class Link {
 public:
  virtual ~Link() = default;
  virtual const ConnectionKey& key() const = 0;
  virtual int self() const = 0;
  virtual int peer() const = 0;
  bool dials() const { return self() == key().dialler; }

  /// For the dialling end: connects and authenticates socket `index` of this connection; blocks at most until
  /// the call's deadline. The returned socket is non-blocking.
  virtual Result<Fd> dial(Route route, int index) = 0;
  /// For the accepting end: socket `index` if it has arrived; an invalid Fd otherwise. Never blocks.
  virtual Result<Fd> accepted(int index) = 0;
};

/// Whether an end reads long messages directly from the peer's process, which must allow it. IfQuick: only
/// messages for which that is measured to be faster.
enum class ReadPeer { IfQuick, Always, Never };

/// Parameters of a connection. Sizes must match at both ends, or connecting fails with an error naming both.
struct ConnectionParams {
  size_t slot_bytes = size_t{64} * 1024;
  int slots = 4;
  int sockets = 2;  // tcp only
  uint64_t sim_seed = 0;
  int64_t sim_delay_us = 50;  // max delay of a message on the sim transport
  // These may differ between the ends.
  ReadPeer read_peer = ReadPeer::IfQuick;  // shm only
  uint8_t traffic_class = 0;               // verbs only: of the communicator; 0: the default
  // verbs only: how many ranks before this one of its host share its memory node. Those whose GPUs are below
  // different PCI bridges count too.
  uint32_t turn = 0;
  std::string gpu;              // verbs only: the PCI bus id of the rank's GPU; empty: it has none
  bool gpu_reads_back = false;  // verbs only: GpuMemory::Visibility of that GPU's memory is AfterRead
};

/// What carries the bytes. Ranks joined by memory all see what each of them posts there.
enum class Medium { ProcessMemory, HostMemory, Network, Simulated };

struct Transport {
  const char* name;
  const char* summary;  // one line for --help and docs
  Medium medium;
  size_t slot_bytes = ConnectionParams().slot_bytes;  // unless the user requests another size
  LinkCost (*cost)(const LinkLoad& load);
  bool (*reaches)(const Endpoint& a, const Endpoint& b);
  /// Starts connecting. Until the other end has connected, the connection has no free slot and nothing to
  /// peek at. Takes ownership of the link.
  Result<std::unique_ptr<Connection>> (*connect)(std::unique_ptr<Link> link, const ConnectionParams& params);
  /// What connections of a rank use.
  struct RankFabrics {
    uint16_t rate_Gbps = 0;  // of a connection; 0: unknown
    NearPorts ports;
  };
  struct OwnFabrics {
    uint64_t bits = 0;  // from bit 0 on
    /// Of a rank whose GPU has that PCI bus id or, if it is empty, of the calling thread. Null: nothing is
    /// known. Reads small files.
    std::function<RankFabrics(const std::string& gpu)> of_rank = nullptr;
  };
  /// The fabrics of this process; null: it needs none. May take long: opens devices. An error: a setting is
  /// wrong. Ends with a bit in common may still find that they cannot be connected
  /// (Connection::is_refused()).
  Result<OwnFabrics> (*fabrics)() = nullptr;
  bool automatic = true;  // false: used only when selected by name
};

/// All transports, best first.
std::span<const Transport> transports();

/// The first of these that is used for the pair if the user selects none: one that needs fabrics only if the
/// two have one in common. Null if there is none.
const Transport* automatic_transport(const Endpoint& a, const Endpoint& b,
                                     std::span<const Transport> among = transports());

/// Those of all transports, for Endpoint::fabrics.
class UsableFabrics {
 public:
  /// Of a process that uses none.
  UsableFabrics() = default;
  static Result<UsableFabrics> find();
  /// See OwnFabrics::of_rank.
  Fabrics of_rank(const std::string& gpu) const;

 private:
  std::array<Transport::OwnFabrics, Fabrics::kMaxTransports> own_;
};
/// The rate at which a rank with these can connect to others over the transport; 0: unknown.
uint16_t fabric_rate_Gbps(const Transport& transport, const Fabrics& fabrics);
/// The ports by which it does.
NearPorts fabric_ports(const Transport& transport, const Fabrics& fabrics);

/// Looks up a transport; if unknown, InvalidArgument that lists the names.
Result<const Transport*> transport_by_name(std::string_view name);

}  // namespace rondo
