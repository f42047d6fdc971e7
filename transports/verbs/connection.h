// SPDX-License-Identifier: Apache-2.0
// VerbsConnection: slots over a queue pair between two ranks that reach one another by InfiniBand or RoCE.
// Connecting happens on a thread of its own (Handshake); afterwards everything happens inside the
// connection's calls, none of which enters the kernel, except to sleep, to be woken and to close.
#pragma once

#include "transports/transport.h"
#include "verbs/handshake.h"
#include "verbs/peer_socket.h"

namespace rondo::verbs {

class VerbsConnection final : public Connection {
 public:
  explicit VerbsConnection(const VerbsTerms& terms);
  /// Nothing lands in memory of this end, or is read from it, once this has returned.
  ~VerbsConnection() override;

  /// Starts connecting.
  Status begin(std::unique_ptr<Link> link);

  std::byte* acquire() override { return connected() ? state_->channel->acquire() : nullptr; }
  void commit(size_t bytes, const Signature& signature) override {
    state_->channel->commit(bytes, signature);
  }
  bool flushed() override { return !connected() || state_->channel->flushed(); }
  std::optional<Arrival> peek() override { return connected() ? state_->channel->peek() : std::nullopt; }
  void release() override { state_->channel->release(); }
  Status status() const override;
  bool has_left() const override { return state_->has_left; }
  Awaited awaited(Awaiting what) const override;

 private:
  /// What asking for the status and falling asleep change as well.
  struct Inner {
    explicit Inner(const VerbsTerms& terms) : handshake(terms) {}
    std::unique_ptr<Link> link;  // of the accepting end, until the socket has arrived
    Handshake handshake;
    std::unique_ptr<SlotChannel> channel;  // once connected
    PeerSocket socket;
    Status failure;  // to connect
    bool has_left = false;
  };

  bool connected() { return state_->channel != nullptr || advance(); }
  bool advance();
  void accept();
  Awaited awaited_on_channel(Awaiting what) const;

  const int peer_;
  const int owner_;  // the process: a forked child must not touch its parent's queue pairs
  std::unique_ptr<Inner> state_;
};

}  // namespace rondo::verbs
