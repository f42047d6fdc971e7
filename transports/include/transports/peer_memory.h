// SPDX-License-Identifier: Apache-2.0
// PeerMemory: FIFOs between two ranks of one host that their GPUs fill and empty directly. Incoming slots are
// in this rank's GPU memory and written by the peer's GPU; if the GPUs cannot access one another's memory,
// both directions use host memory. Used by one thread; nothing waits except for a socket to connect.
#pragma once

#include <memory>
#include <vector>

#include "schedule/fifo_layout.h"
#include "transports/transport.h"

namespace rondo {

class PeerMemory {
 public:
  /// A FIFO's geometry; each channel has one FIFO of each kind in each direction.
  struct FifoKind {
    uint64_t slot_bytes = 0;    // max message size
    uint64_t stride_bytes = 0;  // distance between slots: a multiple of 128
  };
  struct Params {
    int device = 0;
    int slots = 0;
    int channels = 0;
    std::vector<FifoKind> kinds;
  };
  /// The peer must use the same slots, channels and kinds; Mismatch names what differs.
  PeerMemory(std::unique_ptr<Link> link, Params params);
  ~PeerMemory();
  PeerMemory(PeerMemory&&) noexcept;

  /// Makes progress without waiting; true once both ends can use the FIFOs. Unsupported if they never can.
  Result<bool> advance();

  /// The FIFOs in this GPU's address space, once advance() has returned true; initially all zeros.
  FifoLayout outgoing(size_t kind, int channel) const;
  FifoLayout incoming(size_t kind, int channel) const;

 private:
  class Ends;
  std::unique_ptr<Ends> ends_;
};

}  // namespace rondo
