// SPDX-License-Identifier: Apache-2.0
// Relay: carries messages between a pair of FIFOs, which a GPU's blocks fill and empty, and a Connection,
// which they cannot use. Where it can, the Connection sends from the outgoing FIFO itself, whose slots are
// then returned to the GPU once their bytes have left, and receives long messages in the incoming one.
// pump() runs on the Connection's thread.
#pragma once

#include <memory>

#include "base/exportable.h"
#include "schedule/fifo_layout.h"
#include "transports/connection.h"
#include "transports/transport.h"

namespace rondo {

class Relay {
 public:
  /// The memory of both FIFOs: the host's or, for the slots of long messages, the GPU's.
  struct FifoMemory {
    std::byte* host = nullptr;   // zeroed, 128-byte aligned, and visible to CPU and GPU
    std::byte* slots = nullptr;  // of `gpu`, aligned likewise; null: they are the host's too
    std::shared_ptr<const GpuMemory> gpu;
  };
  /// From this length on messages are long: their slots may be the GPU's.
  static constexpr size_t kLong = size_t{16} * 1024;
  static size_t host_bytes(const ConnectionParams& params, bool on_gpu = false);
  static size_t gpu_bytes(const ConnectionParams& params);

  /// The connection and the memory must outlive the Relay. A GPU's slots must be AccessibleMemory.
  Relay(Connection& connection, FifoMemory memory, const ConnectionParams& params);
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
