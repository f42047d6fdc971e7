// SPDX-License-Identifier: Apache-2.0
// PluginConnection: slots over a network plugin between two ranks. Connecting happens on a thread of its own
// (MeetingThread); afterwards everything happens inside the connection's calls. A plugin names nothing that a
// thread could sleep on, so a thread that waits polls, at longer and longer intervals.
#pragma once

#include "common/peer_socket.h"
#include "plugin/meeting_thread.h"
#include "transports/transport.h"

namespace rondo::plugin {

class PluginConnection final : public Connection {
 public:
  explicit PluginConnection(const PluginTerms& terms);
  /// What the plugin still has to do with the memory of this end goes on (PluginDrain).
  ~PluginConnection() override;

  /// Starts connecting.
  Status begin(std::unique_ptr<Link> link);

  std::byte* acquire(size_t bytes) override;
  void commit(size_t bytes, const Signature& signature) override { state_->sender->commit(bytes, signature); }
  bool flushed() override;
  const Arrival* peek() override;
  void release() override { state_->receiver->release(); }
  Status status() const override;
  bool has_left() const override { return state_->has_left; }
  bool is_refused() const override { return state_->is_refused; }
  Awaited awaited(Awaiting what) const override;

 private:
  /// What asking for the status changes as well.
  struct PluginState {
    explicit PluginState(const PluginTerms& terms) : thread(terms) {}
    Status failure_of_channel() const {
      return receiver->failure().ok() ? sender->failure() : receiver->failure();
    }
    /// Lets both directions move: what one waits for may depend on the other.
    void poll() const {
      receiver->poll();
      sender->poll();
    }

    std::unique_ptr<Link> link;  // of the accepting end, until the socket has arrived
    MeetingThread thread;
    std::unique_ptr<PluginSender> sender;  // once connected, as the receiver
    std::unique_ptr<PluginReceiver> receiver;
    PeerSocket socket;
    Status failure;  // to connect
    bool is_refused = false;
    bool has_left = false;
  };
  static constexpr int64_t kDrain_ms = 100;  // a plugin that failed completes nothing

  bool connected() { return state_->sender != nullptr || advance(); }
  bool advance();
  void accept();

  const int peer_;
  const int owner_;  // the process: a forked child must not touch its parent's comms
  std::unique_ptr<PluginState> state_;
};

}  // namespace rondo::plugin
