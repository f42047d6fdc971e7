// Relay: carries messages between a pair of FIFOs, which a GPU's blocks fill and empty, and a Connection,
// which they cannot use. Whoever pumps it is the Connection's thread.
#pragma once

#include "schedule/fifo_layout.h"
#include "transports/connection.h"
#include "transports/transport.h"

namespace rondo {

class Relay {
 public:
  /// Of the memory that both FIFOs take; zeros to begin with, aligned to 128 bytes, reached by CPU and GPU.
  static size_t memory_bytes(const ConnectionParams& params);

  /// The connection and the memory outlive the Relay.
  Relay(Connection& connection, std::byte* memory, const ConnectionParams& params);
  ~Relay();
  Relay(Relay&&) noexcept;

  /// What the GPU fills: messages to the peer.
  FifoLayout outgoing() const;
  /// What it empties: messages of the peer.
  FifoLayout incoming() const;

  /// Moves what can be moved now; whether that was anything.
  bool pump();
  /// Whether all that the GPU has filled is on its way.
  bool flushed();
  /// What broke, if anything did.
  Status status() const;

 private:
  struct Ends;
  std::unique_ptr<Ends> ends_;
};

}  // namespace rondo
