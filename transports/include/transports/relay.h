// SPDX-License-Identifier: Apache-2.0
// Relay: carries messages between a pair of FIFOs, which a GPU's blocks fill and empty, and a Connection,
// which they cannot use. Where it can, the Connection sends from the outgoing FIFO itself, whose slots are
// then returned to the GPU once their bytes have left. pump() runs on the Connection's thread.
#pragma once

#include "schedule/fifo_layout.h"
#include "transports/connection.h"
#include "transports/transport.h"

namespace rondo {

class Relay {
 public:
  /// Size of the memory for both FIFOs, which must be zeroed, 128-byte aligned and visible to CPU and GPU.
  static size_t memory_bytes(const ConnectionParams& params);

  /// The connection and the memory must outlive the Relay.
  Relay(Connection& connection, std::byte* memory, const ConnectionParams& params);
  ~Relay();
  Relay(Relay&&) noexcept;

  /// Filled by the GPU: messages to the peer.
  FifoLayout outgoing() const;
  /// Emptied by the GPU: messages from the peer.
  FifoLayout incoming() const;

  /// Moves at most one message each way without waiting; true if it moved any.
  bool pump();
  /// Whether every message the GPU has published has been sent.
  bool flushed();
  /// The first error of the FIFOs or the connection.
  Status status() const;

 private:
  struct Ends;
  std::unique_ptr<Ends> ends_;
};

}  // namespace rondo
