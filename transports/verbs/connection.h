// SPDX-License-Identifier: Apache-2.0
// VerbsConnection: slots over queue pairs between two ranks that reach one another by InfiniBand or RoCE.
// Connecting happens on a thread of its own (Handshake); afterwards everything happens inside the
// connection's calls, which enter the kernel only to sleep, to be woken, to ask for the status and to close.
// If the path fails, the ends connect again, and go on where they were.
#pragma once

#include "common/peer_socket.h"
#include "transports/transport.h"
#include "transports/zero_copy.h"
#include "verbs/handshake.h"

namespace rondo::verbs {

class VerbsConnection final : public Connection, public ZeroCopy {
 public:
  VerbsConnection(VerbsTerms terms, ConnectionPages pages);
  /// Nothing lands in memory of this end, or is read from it, once this has returned.
  ~VerbsConnection() override;

  /// Starts connecting.
  Status begin(std::unique_ptr<Link> link);

  std::byte* acquire(size_t /*bytes*/) override { return connected() ? state_->channel->acquire() : nullptr; }
  void commit(size_t bytes, const Signature& signature) override {
    state_->channel->commit(bytes, signature);
  }
  bool flushed() override {
    connected();
    return state_->channel == nullptr || state_->channel->flushed();
  }
  const Arrival* peek() override {
    connected();
    return state_->channel != nullptr ? state_->channel->peek() : nullptr;
  }
  void release() override { state_->channel->release(); }
  Status status() const override;
  void look() override { static_cast<void>(status()); }
  bool has_left() const override { return state_->has_left; }
  std::string describe() const override { return state_->description; }
  bool is_refused() const override { return state_->is_refused; }
  std::optional<Unsent> unsent(size_t nth) const override {
    return state_->channel != nullptr ? state_->channel->unsent(nth) : std::nullopt;
  }
  Awaited awaited(Awaiting what) const override;

  // ZeroCopy, of the sending end: from registered memory messages go to the peer's slots.
  std::string gpu_obstacle() const override {
    return state_->channel != nullptr ? state_->channel->gpu_obstacle() : ZeroCopy::gpu_obstacle();
  }
  void export_memory(const ExportableMemory& memory) override {
    if (connected()) state_->channel->export_memory(memory);
  }
  PostMode post_mode(const std::byte* data, size_t bytes) const override {
    return connected() && state_->channel->can_post(data, bytes) ? PostMode::Mapped : PostMode::None;
  }
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override {
    return state_->channel != nullptr && state_->channel->post(data, bytes, signature);
  }
  std::optional<size_t> held() const override {
    return state_->channel != nullptr ? state_->channel->sent() - state_->channel->settled() : 0;
  }
  // Of the receiving end: to registered memory.
  std::optional<size_t> room_ahead() const override {
    return connected() ? state_->channel->room_ahead() : 0;
  }
  void expect_next(std::byte* place, size_t bytes, const Signature* signature) override {
    if (connected()) state_->channel->expect_next(place, bytes, signature);
  }
  void expect_all(std::byte* place, size_t bytes, const Signature& signature) override {
    if (connected()) state_->channel->expect_all(place, bytes, signature);
  }
  void cancel() override;

 private:
  /// What asking for the status and falling asleep change as well.
  struct Inner {
    std::unique_ptr<Link> link;            // of the accepting end, until the socket has arrived
    std::unique_ptr<Handshake> handshake;  // while it connects, for the first time or again
    std::unique_ptr<SlotChannel> channel;  // once connected
    PeerSocket socket;                     // while there is no handshake
    std::vector<std::string> paths;        // of the channel, by queue pair, as path_text()
    std::string description;               // of the channel
    std::vector<Handshake::Connected::WatchedPath> watched;  // of the channel
    size_t lost_pair = 0;                                    // whose path has failed, the last time
    FlowControl::Standing peers;                             // when it was interrupted
    bool has_said = false;                                   // to the peer, that this end is interrupted
    int fruitless = 0;              // interruptions soon after another, with no message in between
    int64_t interrupted_at_ns = 0;  // the last time
    uint64_t passed = 0;            // messages, either way, at the last one
    Status failure;                 // to connect
    bool is_refused = false;
    bool has_left = false;
    bool is_closed = false;  // as the peer has been told
  };

  static constexpr int kMaxFruitless = 3;
  static constexpr int64_t kFruitless_ns = 10'000'000'000;  // later ones are about something else
  bool connected() const { return (state_->channel != nullptr && state_->channel->works()) || advance(); }
  bool advance() const;
  void close() const;
  void accept() const;
  void begin_handshake(Fd socket, LostPath lost) const;
  void check_port() const;
  void interrupt() const;
  std::string describe_channel(const Handshake::Connected& made) const;
  const std::string& lost_path() const { return state_->paths[state_->lost_pair]; }
  void finish_handshake() const;
  Status cannot_go_on(const Status& why) const;
  bool take_farewell() const;
  Status status_of_closed() const;
  Awaited awaited_on_channel(Awaiting what) const;

  const VerbsTerms terms_;
  const ConnectionPages pages_;
  const int owner_;  // the process: a forked child must not touch its parent's queue pairs
  std::unique_ptr<Inner> state_;
};

}  // namespace rondo::verbs
