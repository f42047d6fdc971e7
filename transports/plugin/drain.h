// SPDX-License-Identifier: Apache-2.0
// PluginDrain: what is left of a connection that this end has closed. The interface of plugins has no way to
// withdraw a receive, and some plugins end all connections of a device if a comm is closed while requests are
// outstanding. So each end, once both have closed, sends the other as many messages as that has receives
// outstanding, and closes its comms when its own are done. Used by one thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "common/peer_socket.h"
#include "plugin/receiver.h"
#include "plugin/sender.h"

namespace rondo::plugin {

class PluginDrain {
 public:
  /// This end has said its farewell.
  PluginDrain(std::unique_ptr<PluginSender> sender, std::unique_ptr<PluginReceiver> receiver,
              PeerSocket socket)
      : sender_(std::move(sender)), receiver_(std::move(receiver)), socket_(std::move(socket)) {}

  enum class Awaits {
    Peer,     // until it closes its end: the descriptor tells
    Plugin,   // which does not tell
    Nothing,  // the comms are closed
    Never,    // they cannot be: they, and their memory, must stay
  };
  /// Goes on as far as is possible now. What it awaits next.
  Awaits advance();
  int descriptor() const { return socket_.descriptor(); }

 private:
  static constexpr int64_t kPatience_ms = 10'000;  // once the peer has closed its end, or has died

  void advance_sender();
  void advance_receiver();

  std::unique_ptr<PluginSender> sender_;  // null: closed, as the receiver
  std::unique_ptr<PluginReceiver> receiver_;
  PeerSocket socket_;
  std::optional<Deadline> deadline_;
};

}  // namespace rondo::plugin
