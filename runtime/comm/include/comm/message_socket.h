// MessageSocket: whole messages over an authenticated stream socket, for the control plane. Lives on the
// service thread. send_message() and receive_message() are the same frames for a thread that may block.
#pragma once

#include <functional>
#include <vector>

#include "comm/bytes.h"
#include "comm/poller.h"
#include "comm/socket.h"

namespace rondo {

enum class MessageType : uint32_t {
  Registration,  // rank -> root: who I am
  Table,         // root -> rank: who everybody is
  Refusal,       // root -> rank: why not
  Ready,         // rank -> root: my edges of the control tree stand
  Notice,        // along the tree: something failed
  Ended,         // up the tree: what all ranks below have come to the end of
  AllEnded,      // down the tree: the same of all ranks
  Left,          // to the neighbours: I leave after a failure
  Answer,        // to an inquiry: what this rank is doing
  UniqueId,      // to a process that asks for it
  Farewell,      // to a neighbour: I have heard that you leave
  Sounding,      // along the tree: is there news?
  Sounded,       // back: no more than has come before this
};

struct Message {
  MessageType type;
  std::vector<std::byte> body;
};

/// The longest body that is believed: a table of 100,000 ranks fits.
inline constexpr size_t kMostMessageBytes = 64u << 20;

class MessageSocket {
 public:
  using OnMessage = std::function<void(Message)>;
  using OnClosed = std::function<void()>;  // the other end is gone; the owner may destroy the MessageSocket
  MessageSocket(Poller& poller, Fd fd, OnMessage on_message, OnClosed on_closed);
  ~MessageSocket();

  void send(MessageType type, const ByteWriter& body);
  int fd() const { return fd_.get(); }
  /// What broke it, as errno; 0: nothing, or the other end closed it.
  int error_number() const { return error_number_; }

 private:
  void on_ready(uint32_t events);
  bool read_some();  // false: closed
  void deliver();
  bool flush();  // false: closed

  Poller& poller_;
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
Result<Message> receive_message(const Fd& fd, const Deadline& deadline, const Interrupt& interrupt);

}  // namespace rondo
