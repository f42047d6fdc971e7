// SPDX-License-Identifier: Apache-2.0
// ReadBack: a queue pair of a port with itself, which reads a byte that the port has written to a GPU: a read
// pushes the writes before it out of every buffer on the way. For GPUs to which nothing else makes such bytes
// visible. Made on a thread that connects; afterwards it belongs to the connection's thread.
#pragma once

#include "verbs/queue_pair.h"
#include "verbs/slot_memory.h"

namespace rondo::verbs {

class ReadBack {
 public:
  struct OwnAddress {
    std::array<uint8_t, 16> gid{};
    uint16_t lid = 0;
  };
  /// `path`: from the port to a peer; `own`: the port's address on it. What is read goes where the message
  /// that proves the path has come.
  static Result<std::unique_ptr<ReadBack>> make(const std::shared_ptr<Domain>& domain,
                                                std::shared_ptr<const SlotMemory> incoming, Path path,
                                                const OwnAddress& own, uint16_t pkey_index);

  /// Reads the byte there, in a region that may be read; one at a time.
  Status begin(const std::byte* at, const Region& region);
  /// Whether what was begun, if anything, is done.
  Result<bool> is_done();

 private:
  explicit ReadBack(std::shared_ptr<const SlotMemory> incoming) : incoming_(std::move(incoming)) {}

  bool is_reading_ = false;
  const std::shared_ptr<const SlotMemory> incoming_;
  std::unique_ptr<QueuePair> pair_;  // destroyed first
};

}  // namespace rondo::verbs
