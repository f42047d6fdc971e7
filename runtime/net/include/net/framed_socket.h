// SPDX-License-Identifier: Apache-2.0
// FramedSocket: framed control messages over an authenticated stream socket. Lives on the service thread.
// send_message() and receive_message() use the same frames on a thread that may block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/byte_codec.h"
#include "net/socket.h"

namespace rondo {

class EventLoop;

enum class MessageType : uint32_t {
  Registration,   // rank -> root: this rank's PeerInfo
  Table,          // root -> rank: the PeerInfo of all ranks
  Refusal,        // root -> rank: why it is refused
  Ready,          // rank -> root: my control-tree edges are connected
  FailureNotice,  // along the tree: something failed
  Ended,          // up the tree: all ranks below have ended this
  AllEnded,       // down the tree: all ranks have ended this
  Left,           // to the neighbours: I am leaving after a failure
  Answer,         // to a state query: what this rank is doing
  UniqueId,       // to a process that requests it
  Farewell,       // to a neighbour: acknowledges that it is leaving
  Sounding,       // along the tree: collects pending notices
  Sounded,        // back: only what has arrived before this
  Place,          // to a query: where this rank's program is
};

struct ControlMessage {
  MessageType type;
  std::vector<std::byte> body;
};

/// The longest body that is accepted: a table of 100,000 ranks fits.
inline constexpr size_t kMaxMessageBytes = 64u << 20;

class FramedSocket {
 public:
  using OnMessage = std::function<void(ControlMessage)>;
  using OnClosed = std::function<void()>;  // the other end is gone; the owner may destroy the FramedSocket
  FramedSocket(EventLoop& poller, Fd fd, OnMessage on_message, OnClosed on_closed);
  ~FramedSocket();

  void send(MessageType type, const ByteWriter& body);
  int fd() const { return fd_.get(); }
  /// The errno that broke it; 0: none, or the other end closed it.
  int error_number() const { return error_number_; }

 private:
  void on_ready(uint32_t events);
  bool read_some();  // false: closed
  void deliver();
  bool flush();  // false: closed

  EventLoop& event_loop_;
  Fd fd_;
  OnMessage on_message_;
  OnClosed on_closed_;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
  int error_number_ = 0;
  std::shared_ptr<bool> alive_ =
      std::make_shared<bool>(true);  // false once destroyed, even inside a callback
};

Status send_message(const Fd& fd, MessageType type, const ByteWriter& body, const Deadline& deadline,
                    const Interrupt& interrupt);
Result<ControlMessage> receive_message(const Fd& fd, const Deadline& deadline, const Interrupt& interrupt);

}  // namespace rondo
