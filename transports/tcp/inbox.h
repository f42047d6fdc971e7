// Inbox: the receiving half of a tcp connection. Each socket's stream is read straight into the slots, or to
// where the oldest message is expected; what a read brings beyond the current message goes through a small
// buffer, so that short messages take one system call or less. Nothing that a peer says is used before it is
// checked. Used by TcpConnection, on its thread.
#pragma once

#include <sys/uio.h>

#include <memory>
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
  /// Where the oldest message goes in the place of its slot, if this is what it is.
  void expect(std::byte* place, size_t bytes, const Signature& signature);
  /// Nothing is read any more, and nothing written to where it was expected.
  void stop() { stopped_ = true; }

  /// Reads once from a socket, as far as there are free slots, unless the oldest message has come already
  /// with those before it; what is wrong with the stream, if anything is.
  Status read(size_t socket, int fd);
  /// Whether read() would ask this socket for anything.
  bool takes_from(size_t socket) const;
  /// The socket that brings the oldest message.
  size_t oldest_socket() const { return static_cast<size_t>(released_ % streams_.size()); }
  /// Whether this socket's Hello has come, and was right.
  bool greeted(size_t socket) const { return streams_[socket].greeted; }
  /// Whether the peer has closed this socket between two messages.
  bool has_left(size_t socket) const { return streams_[socket].has_left; }

 private:
  static constexpr size_t kShort = 4096;  // the longest message of which many are read at once
  static constexpr size_t kBuffer = 8 * (sizeof(Frame) + kShort);

  struct Stream {
    /// Pages of it that no read has reached yet take no memory.
    std::unique_ptr<std::byte[]> buffer = std::make_unique_for_overwrite<std::byte[]>(kBuffer);
    size_t begin = 0;  // of what was read and not looked at
    size_t end = 0;
    bool greeted = false;
    bool in_message = false;  // the Frame of message `next` has come
    bool is_short = true;     // the latest message whose Frame has come
    uint64_t next = 0;        // the message that comes next on this socket
    size_t got = 0;           // of its bytes, in its slot
    bool has_left = false;    // the peer has closed it between two messages
  };
  struct Slot {
    Frame frame;
    std::byte* place = nullptr;  // of the bytes, where that is not the slot's memory
    bool complete = false;
  };
  struct Expected {  // of the oldest message
    std::byte* place = nullptr;
    size_t bytes = 0;
    Signature signature;
  };

  Slot& slot(uint64_t message) { return slots_[message % slots_.size()]; }
  const Slot& slot(uint64_t message) const { return slots_[message % slots_.size()]; }
  /// Of the bytes of a message whose Frame has come.
  std::byte* place(uint64_t message) const {
    std::byte* elsewhere = slot(message).place;
    return elsewhere != nullptr ? elsewhere : memory(message);
  }
  std::byte* memory(uint64_t message) const {
    return memory_.get() + message % slots_.size() * aligned_size(terms_.params.slot_bytes);
  }
  bool is_free(uint64_t message) const { return message < released_ + slots_.size(); }
  size_t missing(const Stream& stream) const;
  static size_t room(const Stream& stream);
  ssize_t receive(int fd, const Stream& stream, const iovec& buffer) const;
  void redirect(const Stream& stream);
  void accept(Stream& stream, size_t bytes);
  Status parse(Stream& stream, size_t socket);
  Status take_hello(Stream& stream, size_t socket);
  Status take_frame(Stream& stream);
  void take_bytes(Stream& stream);
  Status end(Stream& stream) const;

  Terms terms_;
  std::vector<Stream> streams_;  // by socket
  std::vector<Slot> slots_;      // message k in slot k % slots
  AlignedBytes memory_;          // made when the first message comes
  Expected expected_;
  uint64_t released_ = 0;
  bool stopped_ = false;
};

}  // namespace rondo::tcp
