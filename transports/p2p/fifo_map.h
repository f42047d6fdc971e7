// FifoMap: where the FIFOs of a PeerMemory lie in the memory that each end gives. Plain arithmetic, the same
// at both ends.
//
//     by channel, by kind    | released | headers | slots |
//
// The counter belongs to the messages that the giver sends, headers and slots to those that it receives: each
// end looks at its own memory for what the other one writes.
#pragma once

#include "transports/peer_memory.h"

namespace rondo {

class FifoMap {
 public:
  explicit FifoMap(const PeerMemory::Params& params) : params_(params) {
    for (const PeerMemory::Kind& kind : params.kinds) {
      offsets_.push_back(channel_bytes_);
      channel_bytes_ += sizeof(ReleasedCounter) + headers_bytes() + slots() * kind.stride_bytes;
    }
  }
  size_t bytes() const { return channel_bytes_ * static_cast<size_t>(params_.channels); }

  /// What `sender` fills and `receiver` empties: memory that each end gave.
  FifoLayout fifo(std::byte* sender, std::byte* receiver, size_t kind, int channel) const {
    const size_t at = static_cast<size_t>(channel) * channel_bytes_ + offsets_[kind];
    const size_t headers = at + sizeof(ReleasedCounter);
    return {.headers = reinterpret_cast<SlotHeader*>(receiver + headers),
            .released = reinterpret_cast<ReleasedCounter*>(sender + at),
            .memory = receiver + headers + headers_bytes(),
            .stride_bytes = params_.kinds[kind].stride_bytes,
            .slot_bytes = params_.kinds[kind].slot_bytes,
            .slots = slots()};
  }

 private:
  static constexpr size_t kAlignment = sizeof(ReleasedCounter);
  size_t slots() const { return static_cast<size_t>(params_.slots); }
  size_t headers_bytes() const {
    return (slots() * sizeof(SlotHeader) + kAlignment - 1) / kAlignment * kAlignment;
  }
  PeerMemory::Params params_;
  std::vector<size_t> offsets_;  // by kind, within a channel
  size_t channel_bytes_ = 0;
};

}  // namespace rondo
