// SPDX-License-Identifier: Apache-2.0
// Conversation: the messages by which two ends connect, over the socket between their processes. Waits last
// until the peer has answered or closed its end, or close() is called: the user of the connection has the
// deadline. Used by the thread that connects.
#pragma once

#include <optional>
#include <type_traits>

#include "base/fd.h"
#include "common/peer_socket.h"
#include "verbs/wire.h"

namespace rondo::verbs {

class Conversation {
 public:
  Conversation(const AgreedParams& params, int peer_rank) : params_(params), peer_(peer_rank) {}

  /// The socket must be non-blocking.
  Status begin(Fd socket);
  /// Ends all waits. Any thread.
  void close() const;
  Fd take_socket() { return std::move(socket_); }

  template <class Message>
  Status send(const Message& message) {
    static_assert(std::has_unique_object_representations_v<Message>);  // no padding, which would be garbage
    return send_bytes(&message, sizeof message);
  }
  Status send_bytes(const void* data, size_t bytes);
  /// The peer finds the end behind what was sent.
  void end_sending() const;
  /// RemoteError if the peer talks nonsense. Its reason if it gives up: as Unsupported if it refuses, else as
  /// InvalidUsage.
  template <class Message>
  Result<Message> receive() {
    Message message;
    RONDO_TRY(receive_bytes(&message, sizeof message));
    RONDO_TRY(check(message, params_));
    if (message.gives_up == kGoesOn) return message;
    peer_refuses_ = message.gives_up == kRefuses;
    return gave_up(message.reason);
  }
  Status receive_bytes(void* data, size_t bytes);
  /// The last words of a peer that closed its end instead of connecting again.
  const std::optional<Farewell>& farewell() const { return farewell_; }
  /// Whether the last message received says so.
  bool peer_refuses() const { return peer_refuses_; }

  /// Waits until the descriptor is readable or, if `or_message`, the peer has sent a message. Whether there
  /// is a message and the descriptor is not readable.
  Result<bool> speaks_before(int descriptor, bool or_message, const Deadline& deadline) const;

 private:
  void find_farewell(const std::byte* begin, const std::byte* end);
  Status gave_up(const WireText& text) const;
  Status wait_for_socket(short events) const;
  Status was_closed() const;

  const AgreedParams params_;
  const int peer_;
  bool peer_refuses_ = false;
  std::optional<Farewell> farewell_;
  Fd socket_;
  Fd stop_;  // readable once closed
};

}  // namespace rondo::verbs
