// Inbox: the receiving half of a tcp connection. Each socket's stream is read straight into the slots; what a
// read brings beyond the current message goes through a small buffer, so that short messages take one system
// call or less. Nothing that a peer says is used before it is checked. Used by TcpConnection, on its thread.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "common/aligned_bytes.h"
#include "tcp/frames.h"
#include "transports/connection.h"

namespace rondo::tcp {

class Inbox {
 public:
  explicit Inbox(const Terms& terms);

  /// The oldest message if it is complete.
  std::optional<Arrival> oldest() const;
  void release();

  /// Reads once from a socket, as far as there are free slots; what is wrong with the stream, if anything is.
  Status read(size_t socket, int fd);
  /// The socket that brings the oldest message.
  size_t oldest_socket() const { return static_cast<size_t>(released_ % streams_.size()); }
  /// Whether this socket's Hello has come, and was right.
  bool greeted(size_t socket) const { return streams_[socket].greeted; }

 private:
  static constexpr size_t kBuffer = sizeof(Frame) + 4096;

  struct Stream {
    std::array<std::byte, kBuffer> buffer;
    size_t begin = 0;  // of what was read and not looked at
    size_t end = 0;
    bool greeted = false;
    bool in_message = false;  // the Frame of message `next` has come
    uint64_t next = 0;        // the message that comes next on this socket
    size_t got = 0;           // of its bytes, in its slot
  };
  struct Slot {
    Frame frame;
    bool complete = false;
  };

  Slot& slot(uint64_t message) { return slots_[message % slots_.size()]; }
  std::byte* memory(uint64_t message) const {
    return memory_.get() + message % slots_.size() * aligned_size(terms_.params.slot_bytes);
  }
  bool is_free(uint64_t message) const { return message < released_ + slots_.size(); }
  size_t missing(const Stream& stream) const;
  void accept(Stream& stream, size_t bytes);
  Status parse(Stream& stream, size_t socket);
  Status take_hello(Stream& stream, size_t socket);
  Status take_frame(Stream& stream);
  void take_bytes(Stream& stream);
  Status ended(const Stream& stream) const;

  Terms terms_;
  std::vector<Stream> streams_;  // by socket
  std::vector<Slot> slots_;      // message k in slot k % slots
  AlignedBytes memory_;          // made when the first message comes
  uint64_t released_ = 0;
};

}  // namespace rondo::tcp
