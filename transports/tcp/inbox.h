// SPDX-License-Identifier: Apache-2.0
// Inbox: the receiving half of a tcp connection. Each socket's stream is read directly into the slots, or to
// the address where the oldest message is expected; bytes beyond the current message go through a small
// buffer, so that a short message takes at most one system call. All peer input is validated before use. Used
// by TcpConnection, on its thread.
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

  /// The oldest message; null: it is not complete.
  const Arrival* oldest();
  bool is_complete() const { return slot(released_).complete; }
  void release();
  /// Receives the oldest message at `place` instead of its slot, if size and signature match.
  void expect(std::byte* place, size_t bytes, const Signature& signature);
  /// Stops reading; nothing more is written to the expected address.
  void stop() { stopped_ = true; }

  /// Reads once from a socket, as far as slots are free, unless the buffer already holds the rest of the
  /// oldest message. Returns the stream's error, if any.
  Status read(size_t socket, int fd);
  /// Whether read() would read from this socket.
  bool takes_from(size_t socket) const;
  /// The socket that carries the oldest message.
  size_t oldest_socket() const { return static_cast<size_t>(released_ % streams_.size()); }
  /// Whether this socket's StreamHello has arrived and was valid.
  bool greeted(size_t socket) const { return streams_[socket].greeted; }
  /// Whether the peer has closed this socket between two messages.
  bool has_left(size_t socket) const { return streams_[socket].has_left; }

 private:
  static constexpr size_t kShort = 4096;  // messages up to this size are read several at a time
  static constexpr size_t kBuffer = 8 * (sizeof(Frame) + kShort);

  struct Stream {
    /// Left uninitialised: pages that no read has reached take no memory.
    std::unique_ptr<std::byte[]> buffer = std::make_unique_for_overwrite<std::byte[]>(kBuffer);
    size_t begin = 0;  // buffer[begin, end) has been read but not parsed
    size_t end = 0;
    bool greeted = false;
    bool in_message = false;  // the Frame of message `next` has arrived
    bool is_short = true;     // whether the latest message with a Frame is short
    uint64_t next = 0;        // the next message of this socket
    size_t got = 0;           // bytes of it in its slot
    bool has_left = false;    // the peer has closed it between two messages
  };
  struct Slot {
    Frame frame;
    std::byte* place = nullptr;  // where the bytes go, if not to the slot's memory
    bool complete = false;
  };
  struct Expected {  // of the oldest message
    std::byte* place = nullptr;
    size_t bytes = 0;
    Signature signature;
  };

  Slot& slot(uint64_t message) { return slots_[message % slots_.size()]; }
  const Slot& slot(uint64_t message) const { return slots_[message % slots_.size()]; }
  /// Destination of a message whose Frame has arrived.
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
  AlignedBytes memory_;          // allocated for the first message
  Arrival oldest_;
  Expected expected_;
  uint64_t released_ = 0;
  bool stopped_ = false;
};

}  // namespace rondo::tcp
