// SPDX-License-Identifier: Apache-2.0
// GpuMessage: one send or receive of GPU-accessible memory, staged through host memory. The stream copies the
// user's buffer to or from staging piece by piece and synchronizes with the host by words; the host sends and
// receives staged data with the PointToPoint engine. Waiters wait for constant values and reset each word to
// 0, so that a captured message can be replayed; each time, a ticket tells the host its place among the other
// messages. All but start() and finish() require the engine's mutex.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "gpu/memory.h"
#include "gpu/stream.h"
#include "p2p/gpu_messages.h"

namespace rondo {

class GpuMessage {
 public:
  virtual ~GpuMessage() = default;

  /// Makes the stream draw a ticket into `word`.
  using DrawTicket = std::function<Status(gpu::Stream stream, uint64_t* word)>;
  /// Enqueue its copies and word operations; the device's context must be current. start() enqueues those
  /// that wait for no peer, finish() the rest, so that the messages of a group do not wait for one another.
  virtual Status start(gpu::Stream stream, const DrawTicket& draw) = 0;
  virtual Status finish(gpu::Stream stream) = 0;

  /// The ticket drawn by the stream since the last begin(); 0: none.
  uint64_t ticket() const;
  /// Whether it can begin, given its ticket: the engine copies a message to its own rank all at once.
  virtual bool can_begin(const PointToPoint& engine) const = 0;
  /// Starts the message in the engine.
  Status begin(PointToPoint& engine);
  /// Makes the progress that the host can make now; true if any.
  virtual bool serve() = 0;
  /// Adds it to those that wait for a peer, if it is one: it may have ended but for this rank's own stream.
  virtual void note(PendingMessages& pending) const = 0;
  /// Unblocks the stream after the communicator has failed.
  virtual void release() = 0;

  /// Whether it has begun and not ended.
  bool under_way() const { return under_way_; }
  /// Whether it is part of a graph, which may replay it at any time.
  bool replayed() const { return replayed_; }
  /// Whether both the host and the stream have finished it; never if it is replayed.
  bool over() const { return over_; }

  gpu::Memory take_memory() { return std::move(memory_); }

  /// Bytes of host memory for a message of that size.
  static size_t memory_bytes(size_t message_bytes);
  /// `memory`: pinned.
  static std::unique_ptr<GpuMessage> make(const AnyRequest& request, gpu::Memory memory, bool replayed);

 protected:
  static constexpr size_t kMaxPieces = 64;
  struct alignas(128) MessageWords {
    uint64_t ticket = 0;
    uint32_t turn = 1;                          // send: the stream may fill staging
    uint32_t done = 0;                          // receive: the stream has emptied staging
    std::array<uint32_t, kMaxPieces> pieces{};  // 1: the piece is in staging
  };
  /// `asked_done`: the `done` flag of the user's request.
  GpuMessage(gpu::Memory memory, size_t bytes, bool& asked_done, bool replayed);

  virtual Status enter(PointToPoint& engine) = 0;
  size_t piece_begin(size_t piece) const { return piece * piece_bytes_; }
  size_t piece_end(size_t piece) const;
  std::byte* staged() const { return memory_.data() + sizeof(MessageWords); }
  bool all_pieces() const { return next_ == pieces_; }
  /// The user's request is complete, or never will be.
  void end();

  gpu::Memory memory_;
  MessageWords& words_;
  size_t bytes_;
  size_t piece_bytes_;
  size_t pieces_;
  size_t next_ = 0;  // the first piece not yet in staging

 private:
  bool& asked_done_;
  bool replayed_;
  bool under_way_ = false;
  bool over_ = false;
};

}  // namespace rondo
