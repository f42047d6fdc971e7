// SPDX-License-Identifier: Apache-2.0
// Outbox: the sending half of a tcp connection: a queue of messages that the kernel has not wholly taken yet.
// Used by TcpConnection, on its thread.
#pragma once

#include <vector>

#include "common/aligned_bytes.h"
#include "tcp/frames.h"

namespace rondo::tcp {

class Outbox {
 public:
  explicit Outbox(const Terms& terms);

  bool has_room() const { return entry(committed_).left == 0; }
  /// The next message's staging slot; requires has_room().
  std::byte* slot();
  /// Queues the next message. Its bytes must stay unchanged until sent.
  void add(const std::byte* data, size_t bytes, const Signature& signature);

  /// The socket of the last queued message.
  size_t last_socket() const { return static_cast<size_t>((committed_ - 1) % terms_.params.sockets); }
  /// The socket of the oldest unsent message; requires one.
  size_t waiting_socket() const;
  /// Sends as much of this socket's queue as the kernel takes now.
  Status send(size_t socket, int fd);

  bool empty() const { return waiting_ == 0; }
  uint64_t committed() const { return committed_; }

 private:
  struct QueuedFrame {
    Frame frame;
    const std::byte* data = nullptr;
    bool is_staged = false;  // a copy of the frame directly precedes the data
    size_t left = 0;         // unsent bytes of frame and data
  };
  static ssize_t send_some(const QueuedFrame& message, int fd);
  size_t stride() const { return sizeof(Frame) + aligned_size(terms_.params.slot_bytes); }
  std::byte* slot_of(uint64_t message) const {
    return staging_.get() + message % entries_.size() * stride() + sizeof(Frame);
  }
  QueuedFrame& entry(uint64_t message) { return entries_[message % entries_.size()]; }
  const QueuedFrame& entry(uint64_t message) const { return entries_[message % entries_.size()]; }

  Terms terms_;
  std::vector<QueuedFrame> entries_;  // message k in entry k % slots
  std::vector<uint64_t> next_;        // by socket: its first message not wholly sent
  AlignedBytes staging_;              // allocated on first use
  uint64_t committed_ = 0;
  uint64_t waiting_ = 0;  // messages not wholly sent
};

}  // namespace rondo::tcp
