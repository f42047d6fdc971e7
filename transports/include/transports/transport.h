// Transport: a way to move slots between two ranks, and the table of all of them.
//
// Adding one is a folder in transports/ and a line in transports/table.cc; the conformance suite in tests/
// runs over the table. The runtime asks reaches() for the best one that a pair can use: both ends decide
// alike, from what both know of one another.
#pragma once

#include <span>
#include <string_view>

#include "transports/connection.h"

namespace rondo {

/// What every rank knows of every other: equal numbers mean the same host or the same process.
struct Endpoint {
  uint64_t host = 0;
  uint64_t process = 0;
};

/// Names one connection of a session, the same at both ends.
struct ConnectionKey {
  uint64_t session = 0;
  uint64_t communicator = 0;
  uint16_t port = 0;  // a Schedule's lane, or the port of sends and receives
  int dialler = 0;    // the rank that opens it, in the session's numbering
  int acceptor = 0;   // the rank that is dialled
  friend auto operator<=>(const ConnectionKey&, const ConnectionKey&) = default;
};

enum class Route { Unix, Tcp };

/// The runtime's help in bringing the two ends of a connection together: authenticated sockets between the
/// two processes. Which of the two dials, the key says.
class Link {
 public:
  virtual ~Link() = default;
  virtual const ConnectionKey& key() const = 0;
  virtual int self() const = 0;
  virtual int peer() const = 0;
  bool dials() const { return self() == key().dialler; }

  /// The dialling end: connects and authenticates socket `index` of this connection; blocks, at the longest
  /// to the call's deadline. The socket is non-blocking.
  virtual Result<Fd> dial(Route route, int index) = 0;
  /// The other end: socket `index` if it has arrived; an invalid Fd while it has not. Never blocks.
  virtual Result<Fd> accepted(int index) = 0;
};

/// Whether an end reads long messages from the memory of the peer's process, which must allow it. IfQuick:
/// each message that takes less time so.
enum class ReadPeer { IfQuick, Always, Never };

/// Sizes of a connection; the same at both ends, or connecting fails with both named.
struct ConnectionParams {
  size_t slot_bytes = size_t{64} * 1024;
  int slots = 4;
  int sockets = 2;  // of a tcp connection
  uint64_t sim_seed = 0;
  int64_t sim_delay_us = 50;               // longest delay of a message on the sim transport
  ReadPeer read_peer = ReadPeer::IfQuick;  // over shm; may differ between the ends
};

struct Transport {
  const char* name;
  const char* summary;  // one line for --help and docs
  bool (*reaches)(const Endpoint& a, const Endpoint& b);
  /// Starts connecting; the connection may still wait for its other end, and then has no slot free and
  /// nothing to peek at. Takes the link.
  Result<std::unique_ptr<Connection>> (*connect)(std::unique_ptr<Link> link, const ConnectionParams& params);
  bool automatic;  // false: only when asked for by name
};

/// All transports, best first.
std::span<const Transport> transports();

/// By name; InvalidArgument that lists the names where there is none.
Result<const Transport*> transport_by_name(std::string_view name);

}  // namespace rondo
