// Outbox: the sending half of a tcp connection: messages that were handed over and have not wholly gone to
// the kernel. Used by TcpConnection, on its thread.
#pragma once

#include <vector>

#include "common/aligned_bytes.h"
#include "tcp/frames.h"

namespace rondo::tcp {

class Outbox {
 public:
  explicit Outbox(const Terms& terms);

  bool has_room() const { return entry(committed_).left == 0; }
  /// The next message's staging slot; only where there is room.
  std::byte* slot();
  /// Puts the next message in line. Its bytes stay where they are until they have gone.
  void add(const std::byte* data, size_t bytes, const Signature& signature);

  /// The socket on which the last message goes.
  size_t last_socket() const { return static_cast<size_t>((committed_ - 1) % terms_.params.sockets); }
  /// The socket on which the oldest message goes that has not gone; only where there is one.
  size_t waiting_socket() const;
  /// Sends what the kernel takes now of what waits for this socket.
  Status send(size_t socket, int fd);

  bool empty() const { return waiting_ == 0; }
  uint64_t committed() const { return committed_; }

 private:
  struct Entry {
    Frame frame;
    const std::byte* data = nullptr;
    bool is_staged = false;  // the frame lies ahead of the data as well
    size_t left = 0;         // bytes of frame and data that have not gone
  };
  static ssize_t send_some(const Entry& message, int fd);
  size_t stride() const { return sizeof(Frame) + aligned_size(terms_.params.slot_bytes); }
  std::byte* slot_of(uint64_t message) const {
    return staging_.get() + message % entries_.size() * stride() + sizeof(Frame);
  }
  Entry& entry(uint64_t message) { return entries_[message % entries_.size()]; }
  const Entry& entry(uint64_t message) const { return entries_[message % entries_.size()]; }

  Terms terms_;
  std::vector<Entry> entries_;  // message k in entry k % slots
  std::vector<uint64_t> next_;  // by socket: the message that it sends or will send
  AlignedBytes staging_;        // made when it is first needed
  uint64_t committed_ = 0;
  uint64_t waiting_ = 0;  // messages that have not wholly gone
};

}  // namespace rondo::tcp
