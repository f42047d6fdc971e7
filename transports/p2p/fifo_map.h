// SPDX-License-Identifier: Apache-2.0
// FifoMap: layout of a PeerMemory's FIFOs in the memory that each end contributes. Plain arithmetic, the same
// at both ends.
//
//     by channel, by kind    | released | headers | slots |
//
// In the memory of one end, the counter is for the messages that end sends, headers and slots for those it
// receives: each end polls its own memory for the peer's writes.
#pragma once

#include "transports/peer_memory.h"

namespace rondo {

class FifoMap {
 public:
  explicit FifoMap(const PeerMemory::Params& params) : params_(params) {
    for (const PeerMemory::FifoKind& kind : params.kinds) {
      offsets_.push_back(channel_bytes_);
      channel_bytes_ += sizeof(ReleasedCounter) + headers_bytes() + slots() * kind.stride_bytes;
    }
  }
  size_t bytes() const { return channel_bytes_ * static_cast<size_t>(params_.channels); }

  /// The FIFO from `sender` to `receiver`: the memory that each end contributed.
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
