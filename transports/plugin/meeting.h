// SPDX-License-Identifier: Apache-2.0
// PluginMeeting: how one end of a connection comes from a socket to comms of the plugin both ways. Each end
// listens and offers its handle over the socket, connects to the other's handle, and accepts. Then it says
// whether that succeeded; if either end cannot go on, both know. Nothing here waits, unless the plugin does.
// Used by the thread that connects, and once it is over by the connection's.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "plugin/receiver.h"
#include "plugin/sender.h"
#include "plugin/wire.h"

namespace rondo::plugin {

class PluginMeeting {
 public:
  explicit PluginMeeting(const PluginTerms& terms) : terms_(terms) {}
  ~PluginMeeting();
  PluginMeeting(const PluginMeeting&) = delete;
  PluginMeeting& operator=(const PluginMeeting&) = delete;

  /// The socket must be non-blocking.
  void begin(Fd socket) { socket_ = std::move(socket); }
  /// Listens, and tells the peer; first.
  void make_offer();
  /// Goes on as far as is possible now; true once the ends are connected, or both know that they are not.
  bool advance();
  /// Once it is over: why they are not.
  const Status& failure() const { return failure_; }
  /// Whether another transport may connect them instead.
  bool is_refused() const { return is_over_ && is_refused_; }
  /// Before it is over, what it waits for: the plugin, or the peer's next words on the socket.
  bool waits_for_plugin() const { return peer_ && !verdict_sent_; }
  int socket() const { return socket_.get(); }

  // Once they are connected:
  std::unique_ptr<PluginSender> take_sender() { return std::move(sender_); }
  std::unique_ptr<PluginReceiver> take_receiver() { return std::move(receiver_); }
  Fd take_socket() { return std::move(socket_); }

 private:
  template <class Message>
  struct PartlyHeard {
    Message message;
    size_t got = 0;  // bytes of it
  };

  Status listen();
  void take_offer();
  void take_verdict();
  Status judge_offer() const;
  void connect();
  Status try_connect();
  Status try_accept();
  bool has_more() const;
  Status took_too_long() const;
  Status closed_by_peer() const;
  void give_verdict(const Status& reason);
  void end(const Status& failure, bool is_refused);
  Status refused_by_peer(const WireText& text) const;
  template <class Message>
  void send(const Message& message);
  template <class Message>
  bool receive(PartlyHeard<Message>& incoming);

  const PluginTerms terms_;
  Fd socket_;
  Status failure_;
  bool is_refused_ = false;
  bool is_over_ = false;

  PluginOffer own_;
  PartlyHeard<PluginOffer> offer_;
  PartlyHeard<PluginVerdict> verdict_;
  std::optional<PluginOffer> peer_;         // its handle keeps the plugin's state between calls
  Deadline deadline_ = Deadline::in_ms(0);  // of connecting, once the peer has made its offer
  bool verdict_sent_ = false;
  void* listener_ = nullptr;
  std::unique_ptr<PluginSender> sender_;
  std::unique_ptr<PluginReceiver> receiver_;
};

}  // namespace rondo::plugin
