// PeerMemory: the FIFOs between two ranks of a host whose GPUs fill and empty them by themselves. What comes
// in lies in the memory of the own GPU, which the peer's GPU writes; where the two cannot reach one
// another's, in memory of the host, at both ends. Used by one thread; nothing here waits but for a connection
// of sockets.
#pragma once

#include <memory>
#include <vector>

#include "schedule/fifo_layout.h"
#include "transports/transport.h"

namespace rondo {

class PeerMemory {
 public:
  /// FIFOs that are alike; each channel has one of each kind in each direction.
  struct Kind {
    uint64_t slot_bytes = 0;    // of a message
    uint64_t stride_bytes = 0;  // that a slot takes: a multiple of 128
  };
  struct Params {
    int device = 0;
    int slots = 0;
    int channels = 0;
    std::vector<Kind> kinds;
  };
  /// The peer makes one with the same slots, channels and kinds; Mismatch names what differs.
  PeerMemory(std::unique_ptr<Link> link, Params params);
  ~PeerMemory();
  PeerMemory(PeerMemory&&) noexcept;

  /// Does what can be done now; true once both ends can use the FIFOs. Unsupported where they never can.
  Result<bool> advance();

  /// As the own GPU sees them, once they stand; all zeros then.
  FifoLayout outgoing(size_t kind, int channel) const;
  FifoLayout incoming(size_t kind, int channel) const;

 private:
  class Ends;
  std::unique_ptr<Ends> ends_;
};

}  // namespace rondo
